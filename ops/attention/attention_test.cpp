#include "ops/attention/attention.h"

#include "ops/arithmetic/arithmetic.h"
#include "ops/copy/copy.h"
#include "ops/full/full.h"
#include "ops/view/view.h"
#include "tests/op_case.h"

namespace plimsoll {
namespace {

// out [B, T, H, D] and log_sum_exp [B, H, T], query by query.
std::vector<Array> reference(const Array& q, const Array& k, const Array& v, AttentionAttrs attrs) {
  const int64_t B = q.size(0), T = q.size(1), H = q.size(2), D = q.size(3), S = k.size(1);
  const double scale = attrs.scale != 0 ? attrs.scale : 1 / std::sqrt(static_cast<double>(D));
  Array out(q.shape), log_sum_exp({B, H, T});
  for (int64_t b = 0; b < B; ++b)
    for (int64_t h = 0; h < H; ++h)
      for (int64_t i = 0; i < T; ++i) {
        const int64_t seen = attrs.causal ? std::max<int64_t>(0, i + S - T + 1) : S;
        const auto at = [&](int64_t length, int64_t row) {
          return ((b * length + row) * H + h) * D;
        };
        std::vector<double> score(static_cast<size_t>(seen));
        double highest = -kInf, total = 0;
        for (int64_t j = 0; j < seen; ++j) {
          double& s = score[static_cast<size_t>(j)];
          for (int64_t d = 0; d < D; ++d) s += scale * q[at(T, i) + d] * k[at(S, j) + d];
          highest = std::max(highest, s);
        }
        for (const double s : score) total += std::exp(s - highest);
        for (int64_t j = 0; j < seen; ++j)
          for (int64_t d = 0; d < D; ++d)
            out[at(T, i) + d] +=
                std::exp(score[static_cast<size_t>(j)] - highest) / total * v[at(S, j) + d];
        log_sum_exp[(b * H + h) * T + i] = seen > 0 ? highest + std::log(total) : highest;
      }
  return {out, log_sum_exp};
}

using Results = std::vector<Tensor> (*)(const AttentionResult&);
using Expected = std::vector<Array> (*)(const std::vector<Array>&);

OpCase attend(const char* name, Shape q, int64_t keys, AttentionAttrs attrs, Results results,
              Expected expected) {
  const Shape k{q[0], keys, q[2], q[3]};
  return {.name = name,
          .inputs = {real(q), real(k), real(k)},
          .call = [=](auto in) { return results(attention(in[0], in[1], in[2], attrs)); },
          .reference =
              [=](const std::vector<Array>& in) {
                return expected(reference(in[0], in[1], in[2], attrs));
              }};
}

// Both results in one, out_ihd + log_sum_exp_hi, so that one gradient op is given both gradients.
OpCase both(const char* name, Shape q, int64_t keys, AttentionAttrs attrs = {}) {
  const auto results = [](const AttentionResult& y) {
    const Shape column{y.out.size(0), y.out.size(1), y.out.size(2), 1};
    const Tensor by_query = reshape(transpose(y.log_sum_exp, 1, 2), column);
    return std::vector{y.out + cast(by_query, y.out.dtype())};
  };
  const auto expected = [](const std::vector<Array>& y) {
    Array sum = y[0];
    const int64_t T = sum.size(1), H = sum.size(2), D = sum.size(3);
    for (int64_t e = 0; e < count(sum.shape); ++e) {
      const int64_t h = e / D % H, i = e / D / H % T, b = e / D / H / T;
      sum[e] += y[1][(b * H + h) * T + i];
    }
    return std::vector{sum};
  };
  return attend(name, q, keys, attrs, results, expected);
}

OpCase out_only(const char* name, Shape q, int64_t keys, AttentionAttrs attrs = {}) {
  return attend(
      name, q, keys, attrs, [](const AttentionResult& y) { return std::vector{y.out}; },
      [](const std::vector<Array>& y) { return std::vector{y[0]}; });
}

OpCase log_sum_exp_only(const char* name, Shape q, int64_t keys) {
  return attend(
      name, q, keys, {}, [](const AttentionResult& y) { return std::vector{y.log_sum_exp}; },
      [](const std::vector<Array>& y) { return std::vector{y[1]}; });
}

// Both results as they are, without gradients: a log_sum_exp of -infinity has no finite difference.
OpCase values_only(const char* name, Shape q, int64_t keys, AttentionAttrs attrs = {}) {
  OpCase c = attend(
      name, q, keys, attrs,
      [](const AttentionResult& y) {
        return std::vector{y.out, y.log_sum_exp};
      },
      [](const std::vector<Array>& y) { return y; });
  c.differentiable = false;
  return c;
}

// Scores of hundreds: what f32 cannot hold of them comes back as an error of the probabilities.
OpCase large_scores() {
  OpCase c = out_only("large_scores", {1, 5, 1, 4}, 5, {.scale = 200});
  c.tolerance = 4;
  c.dtypes = {DType::f64, DType::f32};
  return c;
}

// Keys whose scores are -infinity fill the first block and more: they count for nothing.
OpCase infinite_scores() {
  OpCase c = values_only("infinite_scores", {1, 1, 1, 1}, 261, {.causal = false});
  std::vector<double> keys(261, -kInf);
  for (size_t j = 130; j < 261; j += 4) keys[j] = 0.01 * static_cast<double>(j) - 2;
  c.inputs[0] = given({1, 1, 1, 1}, {1.5});
  c.inputs[1] = given({1, 261, 1, 1}, keys);
  c.dtypes = {DType::f64, DType::f32};
  return c;
}

// q, k and v are slices of one tensor, read where they are.
OpCase slices() {
  const auto part = [](const Tensor& x, int64_t which) {
    return slice(x, 2, 2 * which, 2 * which + 2);
  };
  return {.name = "slices",
          .inputs = {real({2, 5, 6, 4})},
          .call =
              [part](auto in) {
                return std::vector{attention(part(in[0], 0), part(in[0], 1), part(in[0], 2)).out};
              },
          .reference =
              [](const std::vector<Array>& in) {
                std::vector<Array> parts(3, Array({2, 5, 2, 4}));
                for (int64_t e = 0; e < count(in[0].shape); ++e)
                  parts[static_cast<size_t>(e / 8 % 3)][e / 24 * 8 + e % 8] = in[0][e];
                return std::vector{reference(parts[0], parts[1], parts[2], {})[0]};
              }};
}

}  // namespace

OpCases attention_cases() {
  const AttentionAttrs full_view{.causal = false};
  return {
      .good = {both("causal", {2, 5, 2, 3}, 5), both("full", {2, 5, 2, 3}, 5, full_view),
               both("more_keys", {1, 3, 2, 4}, 7), both("cross", {1, 7, 2, 4}, 3, full_view),
               both("one", {1, 1, 1, 1}, 1), both("scale", {1, 4, 1, 2}, 4, {.scale = 2.5}),
               both("several_blocks", {1, 131, 1, 2}, 131),
               both("several_key_blocks", {1, 3, 1, 2}, 259),
               both("several_blocks_full", {1, 66, 1, 2}, 130, full_view),
               out_only("fewer_keys", {1, 6, 2, 3}, 4), slices(), large_scores(), infinite_scores(),
               out_only("query_block_sees_nothing", {1, 70, 1, 2}, 3),
               values_only("masked_values", {1, 6, 2, 3}, 4),
               values_only("no_keys", {2, 3, 1, 2}, 0, full_view),
               log_sum_exp_only("log_sum_exp", {2, 4, 2, 3}, 5),
               out_only("no_queries", {1, 0, 2, 3}, 4), out_only("no_batch", {0, 3, 2, 3}, 3)},
      .bad = {
          {"sizes",
           [] {
             attention(ones({1, 2, 3, 4}), ones({1, 2, 3, 5}), ones({1, 2, 3, 5}));
           },
           "attention: the sizes differ: q [1, 2, 3, 4], k [1, 2, 3, 5] and v [1, 2, 3, 5]. k and "
           "v must be equal, and agree with q but for the length."},
          {"values",
           [] {
             attention(ones({1, 2, 3, 4}), ones({1, 2, 3, 4}), ones({1, 3, 3, 4}));
           },
           "attention: the sizes differ: q [1, 2, 3, 4], k [1, 2, 3, 4] and v [1, 3, 3, 4]. k and "
           "v must be equal, and agree with q but for the length."},
          {"rank",
           [] {
             attention(ones({2, 3, 4}), ones({2, 3, 4}), ones({2, 3, 4}));
           },
           "attention: four axes are needed: q [2, 3, 4] and k [2, 3, 4]. Reshape to [batch, "
           "length, heads, features]."},
          {"features",
           [] {
             attention(ones({1, 2, 3, 0}), ones({1, 2, 3, 0}), ones({1, 2, 3, 0}));
           },
           "attention: the heads have no features: q [1, 2, 3, 0]. Give the last axis at least "
           "one."},
          {"types",
           [] {
             const Tensor x = ones({1, 2, 3, 4});
             attention(x, x, ones({1, 2, 3, 4}, {.dtype = DType::bf16}));
           },
           "attention: q, k and v of one floating type are needed: got f32, f32 and bf16. Cast "
           "them."},
          {"scale",
           [] {
             const Tensor x = ones({1, 2, 3, 4});
             attention(x, x, x, {.scale = -1});
           },
           "attention: the scale is no positive number: -1. Leave it at 0 for 1 / sqrt(D)."}}};
}

}  // namespace plimsoll
