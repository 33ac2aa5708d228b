#include "ops/reduction/logsumexp/logsumexp.h"

#include "autograd/gradients.h"
#include "ops/random/full/full.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

// x seen as [outer, mid, inner], mid being axes first ... last - 1.
Array reference(const Array& x, int first, int last, Keep keep) {
  Shape shape;
  int64_t outer = 1, mid = 1, inner = 1;
  for (int a = 0; a < x.shape.rank(); ++a) {
    (a < first ? outer : a < last ? mid : inner) *= x.size(a);
    if (a < first || a >= last)
      shape.push_back(x.size(a));
    else if (keep == Keep::ones)
      shape.push_back(1);
  }
  Array y(shape);
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t j = 0; j < inner; ++j) {
      double largest = -kInf, total = 0;
      for (int64_t i = 0; i < mid; ++i) largest = std::max(largest, x[(o * mid + i) * inner + j]);
      for (int64_t i = 0; i < mid; ++i) total += std::exp(x[(o * mid + i) * inner + j] - largest);
      y[o * inner + j] = mid ? largest + std::log(total) : -kInf;
    }
  return y;
}

OpCase over(const char* name, InputSpec input, int first, int last, Keep keep = Keep::none) {
  return {.name = name,
          .inputs = {input},
          .call =
              [=](auto in) {
                Shape axes;
                for (int axis = first; axis < last; ++axis) axes.push_back(axis);
                return std::vector{logsumexp(in[0], axes, keep)};
              },
          .reference =
              [=](const std::vector<Array>& in) {
                return std::vector{reference(in[0], first, last, keep)};
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
  OpCase apart = over("apart", real({2, 1, 3}, -2, 2), 0, 3);
  apart.call = [](auto in) { return std::vector{logsumexp(in[0], {2, 0})}; };
  apart.reference = [](const std::vector<Array>& in) {
    Array y({1});
    y[0] = reference(in[0], 0, 3, Keep::none)[0];
    return std::vector{y};
  };
  OpCase nothing = over("of_nothing", real({3, 0}), 1, 2);
  nothing.differentiable = false;  // infinities have no difference
  const double log2 = std::log(2.0), log3 = std::log(3.0);
  OpCase large = over("large", real({3, 7}, 900, 1000), 1, 2);
  large.differentiable = false;  // differences of 1e-6 of 1000 have no digits left
  return {
      .good = {over("last", real({4, 7}, -3, 3), 1, 2), over("first", real({5, 3}, -3, 3), 0, 1),
               over("middle", real({2, 5, 3}), 1, 2, Keep::ones),
               over("all", real({2, 3, 4}), 0, 3), over("two", real({2, 3, 4}), 1, 3), apart, large,
               over("none", real({3}), 0, 0), over("scalar", real({}), 0, 0),
               over("size1", real({3, 1}), 1, 2), over("long", real({2, 1300}), 1, 2),
               over("wide", real({2, 3, 131}), 1, 2), over("to_nothing", real({0, 3}), 1, 2),
               nothing,
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
