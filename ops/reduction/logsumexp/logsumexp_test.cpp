#include "ops/reduction/logsumexp/logsumexp.h"

#include "autograd/gradients.h"
#include "ops/random/full/full.h"
#include "tests/support/reduce_reference.h"

namespace plimsoll {
namespace {

double logsumexp_of(const std::vector<double>& group) {
  double largest = -kInf, total = 0;
  for (const double v : group) largest = std::max(largest, v);
  for (const double v : group) total += std::exp(v - largest);
  return group.empty() ? -kInf : largest + std::log(total);
}

OpCase over(const char* name, InputSpec input, Shape axes, Keep keep = Keep::none) {
  return {.name = name,
          .inputs = {input},
          .call = [=](auto in) { return std::vector{logsumexp(in[0], axes, keep)}; },
          .reference =
              [=](const std::vector<Array>& in) {
                return std::vector{reduce_groups(in[0], axes, keep, logsumexp_of)};
              }};
}

// Stated results, and the gradient for dy = 1.
OpCase special(const char* name, InputSpec input, int64_t axis, std::vector<double> y,
               std::vector<double> dx) {
  return {
      .name = name,
      .inputs = {input},
      .call =
          [=](auto in) {
            const Tensor x = in[0].detach().require_grad();
            const Tensor out = logsumexp(x, {axis});
            const Tensor seed = ones(out.shape(), {out.dtype(), out.device()});
            return std::vector{out.detach(), gradients(out, std::array{x}, {.seed = seed}).front()};
          },
      .reference =
          [=](const std::vector<Array>&) {
            Array a({static_cast<int64_t>(y.size())}), b(input.shape);
            a.values = y;
            b.values = dx;
            return std::vector{a, b};
          },
      .differentiable = false};
}

}  // namespace

OpCases logsumexp_cases() {
  OpCase nothing = over("of_nothing", real({3, 0}), {1});
  nothing.differentiable = false;  // infinities have no difference
  const double log2 = std::log(2.0), log3 = std::log(3.0);
  OpCase large = over("large", real({3, 7}, 900, 1000), {1});
  large.differentiable = false;  // differences of 1e-6 of 1000 have no digits left
  return {
      .good = {over("last", real({4, 7}, -3, 3), {1}), over("first", real({5, 3}, -3, 3), {0}),
               over("middle", real({2, 5, 3}), {1}, Keep::ones),
               over("all", real({2, 3, 4}), {0, 1, 2}), over("two", real({2, 3, 4}), {1, 2}),
               over("apart", real({2, 1, 3}, -2, 2), {2, 0}), large, over("none", real({3}), {}),
               over("scalar", real({}), {}), over("size1", real({3, 1}), {1}),
               over("long", real({2, 1300}), {1}), over("wide", real({2, 3, 131}), {1}),
               over("to_nothing", real({0, 3}), {1}), nothing,
               special("rows_of_infinity", given({3, 2}, {-kInf, -kInf, -kInf, 0, kNaN, 0}), 1,
                       {-kInf, 0, kNaN}, {0, 0, 0, 1, kNaN, kNaN}),
               // A gradient made of the rounded y would be 1 in bf16 and 0.37 in f16.
               special("large_rows", given({2, 3}, {1e3, 1e3, 1e3, -1e3, -1e3, -1e3}), 1,
                       {1e3 + log3, log3 - 1e3}, std::vector<double>(6, 1.0 / 3)),
               special("large_columns", given({3, 2}, {1e3, -1e3, 1e3, -1e3, 1e3, -1e3}), 0,
                       {1e3 + log3, log3 - 1e3}, std::vector<double>(6, 1.0 / 3)),
               special("columns_of_infinity", given({2, 2}, {-kInf, 4, -kInf, 4}), 0,
                       {-kInf, 4 + log2}, {0, .5, 0, .5})},
      .bad = {{"axis", [] { logsumexp(ones({2}), {1}); },
               "logsumexp: the axis does not exist: axis 1 of a tensor with 1 axes. Count axes "
               "from 0, or from -1 backwards."},
              {"integers", [] { logsumexp(ones({2}, {.dtype = DType::i32}), {0}); },
               "logsumexp: a floating type is needed: got i32. Cast it first."}}};
}

}  // namespace plimsoll
