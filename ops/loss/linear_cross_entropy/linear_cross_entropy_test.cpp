#include "ops/loss/linear_cross_entropy/linear_cross_entropy.h"

#include "autograd/gradients.h"
#include "ops/pointwise/arithmetic/arithmetic.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/random/full/full.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

constexpr Reduction kAll[] = {Reduction::mean, Reduction::sum, Reduction::none};

struct Options {
  int64_t ignore_index = -100;
  double smoothing = 0;
  std::vector<double> weights = {};  // in quarters
};

// x [..., I], w [C, I], labels [...] and perhaps bias [C].
std::vector<Array> reference(const std::vector<Array>& in, const Options& options) {
  const Array &x = in[0], &w = in[1], &labels = in[2];
  const int64_t classes = w.size(0), inputs = w.size(1);
  const auto weight = [&](int64_t c) {
    return options.weights.empty() ? 1 : options.weights[static_cast<size_t>(c)] / 4;
  };
  Array mean, sum, none(labels.shape), logits({classes});
  double total = 0;
  for (int64_t row = 0; row < count(labels.shape); ++row) {
    const auto label = static_cast<int64_t>(labels[row]);
    if (label == options.ignore_index) continue;
    double highest = -kInf, z = 0;
    for (int64_t c = 0; c < classes; ++c) {
      logits[c] = in.size() == 4 ? in[3][c] : 0;
      for (int64_t i = 0; i < inputs; ++i) logits[c] += x[row * inputs + i] * w[c * inputs + i];
      highest = std::max(highest, logits[c]);
    }
    for (int64_t c = 0; c < classes; ++c) z += std::exp(logits[c] - highest);
    for (int64_t c = 0; c < classes; ++c) {
      const double share = options.smoothing / static_cast<double>(classes) +
                           (c == label ? 1 - options.smoothing : 0);
      none[row] += share * weight(c) * (std::log(z) + highest - logits[c]);
    }
    sum[0] += none[row];
    total += weight(label);
  }
  mean[0] = sum[0] / total;
  return {mean, sum, none};
}

Tensor weight_tensor(const Tensor& quarters) { return cast(quarters, DType::f64) / 4; }

// Under all three reductions. The weights are the last input, if there are any.
OpCase rows(const char* name, std::vector<InputSpec> inputs, Options options = {}) {
  const size_t own = inputs.size();
  if (!options.weights.empty())
    inputs.push_back(given_index({static_cast<int64_t>(options.weights.size())}, options.weights));
  return {.name = name,
          .inputs = inputs,
          .call =
              [=](auto in) {
                std::vector<Tensor> losses;
                for (const Reduction reduction : kAll)
                  losses.push_back(linear_cross_entropy(
                      in[0], in[1], own == 4 ? in[3] : Tensor(), in[2],
                      {.weight = in.size() > own ? weight_tensor(in[own]) : Tensor(),
                       .ignore_index = options.ignore_index,
                       .label_smoothing = options.smoothing,
                       .reduction = reduction}));
                return losses;
              },
          .reference =
              [=](std::vector<Array> in) {
                in.resize(own);
                return reference(in, options);
              }};
}

// A NaN has no slope to compare with.
OpCase undifferentiated(OpCase c) {
  c.differentiable = false;
  return c;
}

// Enough rows and classes for several chunks. A few numbers are real, the rest integer multiples: a
// finite difference for each of 4,000 elements would take minutes. Labels from all classes would
// leave the bias a gradient that is the small difference of two means.
OpCase several_chunks() {
  const auto stretched = [](const Tensor& factor, const Tensor& integers) {
    return factor * cast(integers, factor.dtype());
  };
  return {
      .name = "several_chunks",
      .inputs = {real({2}), real({2}), real({1}), index({300}, 5), index({300, 2}, 3),
                 index({1031, 2}, 3), index({1031}, 3)},
      .call =
          [=](auto in) {
            return std::vector{linear_cross_entropy(
                stretched(in[0], in[4]), stretched(in[1], in[5]), stretched(in[2], in[6]), in[3])};
          },
      .reference =
          [](const std::vector<Array>& in) {
            Array x = in[4], w = in[5], bias = in[6];
            for (int64_t e = 0; e < count(x.shape); ++e) x[e] *= in[0][e % 2];
            for (int64_t e = 0; e < count(w.shape); ++e) w[e] *= in[1][e % 2];
            for (double& b : bias.values) b *= in[2][0];
            return std::vector{reference({x, w, in[3], bias}, {})[0]};
          }};
}

// Each gradient alone is what it is beside the others.
OpCase some_gradients() {
  const auto gradient = [](auto in, size_t which) {
    std::array<Tensor, 3> leaves{in[0].detach(), in[1].detach(), in[3].detach()};
    leaves[which] = leaves[which].require_grad();
    const Tensor loss = linear_cross_entropy(leaves[0], leaves[1], leaves[2], in[2]);
    return gradients(loss, std::array{leaves[which]})[0];
  };
  OpCase c = undifferentiated(
      rows("some_gradients", {real({2, 3}), real({4, 3}), index({2}, 4), real({4})}));
  c.call = [=](auto in) { return std::vector{gradient(in, 0), gradient(in, 1), gradient(in, 2)}; };
  c.reference = [](const std::vector<Array>& in) {
    Array dx({2, 3}), dw({4, 3}), db({4});
    for (int64_t r = 0; r < 2; ++r) {
      double z = 0;
      std::array<double, 4> logits;
      for (int64_t k = 0; k < 4; ++k) {
        double& logit = logits[static_cast<size_t>(k)] = in[3][k];
        for (int64_t i = 0; i < 3; ++i) logit += in[0][r * 3 + i] * in[1][k * 3 + i];
        z += std::exp(logit);
      }
      for (int64_t k = 0; k < 4; ++k) {
        const double d = (std::exp(logits[static_cast<size_t>(k)]) / z - (in[2][r] == k)) / 2;
        db[k] += d;
        for (int64_t i = 0; i < 3; ++i) {
          dx[r * 3 + i] += d * in[1][k * 3 + i];
          dw[k * 3 + i] += d * in[0][r * 3 + i];
        }
      }
    }
    return std::vector{dx, dw, db};
  };
  return c;
}

// Whose mean is NaN, but whose sum has gradients: zeros.
OpCase no_rows() {
  OpCase c = rows("no_rows", {real({0, 3}), real({7, 3}), given_index({0}, {}), real({7})});
  c.call = [](auto in) {
    return std::vector{
        linear_cross_entropy(in[0], in[1], in[3], in[2], {.reduction = Reduction::sum})};
  };
  c.reference = [](const std::vector<Array>&) { return std::vector{Array()}; };
  return c;
}

Tensor labels(std::initializer_list<int64_t> values) {
  return Tensor::of<int64_t>(values, {static_cast<int64_t>(values.size())});
}

// Logits without any digits for log(3): the gradient of the sum of the losses by the bias.
OpCase huge() {
  return {.name = "huge",
          .inputs = {given({2, 1}, {1e30, -1e30}), given({3, 1}, {1, 1, 1}),
                     given_index({2}, {0, 2}), given({3}, {0, 0, 0})},
          .call =
              [](auto in) {
                const Tensor bias = in[3].detach().require_grad();
                const Tensor loss = linear_cross_entropy(in[0].detach(), in[1].detach(), bias,
                                                         in[2], {.reduction = Reduction::sum});
                return std::vector{loss.detach(), gradients(loss, std::array{bias}).front()};
              },
          .reference =
              [](const std::vector<Array>&) {
                Array loss, db({3});
                loss[0] = 2 * std::log(3.0);
                db.values = {2.0 / 3 - 1, 2.0 / 3, 2.0 / 3 - 1};
                return std::vector{loss, db};
              },
          .differentiable = false,
          .dtypes = {DType::f64, DType::f32, DType::bf16}};
}

}  // namespace

OpCases linear_cross_entropy_cases() {
  const InputSpec x = real({5, 3}, -2, 2), w = real({7, 3}, -2, 2), bias = real({7});
  const InputSpec y = given_index({5}, {0, 3, 4, 3, 1});
  const std::vector<double> uneven = {2, 8, 4, 1, 16, 0, 12};
  return {
      .good = {huge(), rows("rows", {x, w, y, bias}), rows("no_bias", {x, w, y}),
               rows("three_axes", {real({2, 3, 4}), real({5, 4}), index({2, 3}, 5), real({5})}),
               rows("one_row", {real({4}), real({6, 4}), index({}, 6)}),
               rows("ignored", {x, w, y, bias}, {.ignore_index = 3}),
               rows("weights", {x, w, y, bias}, {.weights = uneven}),
               rows("all_options", {x, w, y, bias}, {3, 0.2, uneven}),
               rows("smoothing", {x, w, y}, {.smoothing = 0.1}),
               rows("no_inputs", {real({4, 0}), real({3, 0}), index({4}, 3), real({3})}),
               several_chunks(), some_gradients(), no_rows(),
               undifferentiated(rows("all_ignored", {x, w, given_index({5}, {3, 3, 3, 3, 3}), bias},
                                     {.ignore_index = 3}))},
      .bad = {{"inner",
               [] {
                 linear_cross_entropy(ones({2, 3}), ones({5, 4}), {}, labels({0, 1}));
               },
               "linear_cross_entropy: the inner sizes differ: x [2, 3] and w [5, "
               "4]. The last axis of "
               "x must equal the last axis of w."},
              {"matrix",
               [] {
                 linear_cross_entropy(ones({2, 3}), ones({3}), {}, labels({0, 1}));
               },
               "linear_cross_entropy: w is not a matrix: [3]. Give it the shape "
               "[classes, inputs]."},
              {"bias",
               [] {
                 linear_cross_entropy(ones({2, 3}), ones({5, 3}), ones({3}), labels({0, 1}));
               },
               "linear_cross_entropy: the bias does not fit: [3] for w [5, 3]. "
               "Give it the shape [5]."},
              {"types",
               [] {
                 linear_cross_entropy(ones({2, 3}), ones({5, 3}, {.dtype = DType::f64}), {},
                                      labels({0, 1}));
               },
               "linear_cross_entropy: tensors of one floating type are needed: got "
               "f32 and f64. Cast "
               "one of them."},
              {"labels",
               [] {
                 linear_cross_entropy(ones({2, 3}), ones({5, 3}), {}, labels({0, 1, 2}));
               },
               "linear_cross_entropy: the labels do not fit: [3] for logits [2, "
               "5]. Give one label for "
               "each row of the last axis."},
              {"weights",
               [] {
                 linear_cross_entropy(ones({2, 3}), ones({5, 3}), ones({5}), labels({0, 1}),
                                      {.weight = ones({4})});
               },
               "linear_cross_entropy: the weights do not fit: [4] for 5 classes. "
               "Give one weight for "
               "each class."},
              {"smoothing",
               [] {
                 linear_cross_entropy(ones({2, 3}), ones({5, 3}), {}, labels({0, 1}),
                                      {.label_smoothing = -1});
               },
               "linear_cross_entropy: label_smoothing is not from 0 to 1: -1. Use "
               "0.1 or so."},
              {"label",
               [] {
                 linear_cross_entropy(ones({2, 3}), ones({5, 3}), {}, labels({0, 5}));
               },
               "linear_cross_entropy: a label is out of range: 5 at position 1 for "
               "5 classes. Use "
               "labels from 0 and below 5, or -100 for rows to leave out."}}};
}

}  // namespace plimsoll
