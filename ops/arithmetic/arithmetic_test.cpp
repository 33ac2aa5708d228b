#include "ops/arithmetic/arithmetic.h"

#include "ops/full/full.h"
#include "tests/op_case.h"

namespace plimsoll {
namespace {

// Element of x at the broadcast position `index` of `out`.
double at(const Array& x, const Shape& out, int64_t index) {
  int64_t offset = 0, step = 1;
  for (int axis = out.rank() - 1; axis >= 0; --axis) {
    const int own = axis - (out.rank() - x.shape.rank());
    const int64_t position = index % out[axis];
    index /= out[axis];
    if (own < 0) continue;
    if (x.shape[own] != 1) offset += position * step;
    step *= x.shape[own];
  }
  return x[offset];
}

OpCase binary(const char* name, InputSpec a, InputSpec b,
              Tensor (*op)(const Tensor&, const Tensor&), double (*f)(double, double)) {
  return {.name = name,
          .inputs = {a, b},
          .call = [op](auto in) { return std::vector{op(in[0], in[1])}; },
          .reference =
              [f](const std::vector<Array>& in) {
                Array y(broadcast("reference", in[0].shape, in[1].shape));
                for (int64_t i = 0; i < count(y.shape); ++i)
                  y[i] = f(at(in[0], y.shape, i), at(in[1], y.shape, i));
                return std::vector{y};
              }};
}

}  // namespace

OpCases arithmetic_cases() {
  const auto plus = [](double a, double b) { return a + b; };
  const auto minus = [](double a, double b) { return a - b; };
  const auto times = [](double a, double b) { return a * b; };
  const auto over = [](double a, double b) { return a / b; };
  return {
      .good = {binary("add_same", real({3, 5}), real({3, 5}), add, plus),
               binary("add_bias", real({2, 3, 4}), real({4}), add, plus),
               binary("sub_outer", real({3, 1}), real({1, 4}), sub, minus),
               binary("mul_middle", real({2, 3, 4}), real({2, 1, 4}), mul, times),
               binary("mul_scalar", real({2, 3}), real({}), mul, times),
               binary("mul_empty", real({0, 3}), real({3}), mul, times),
               binary("div_rows", real({4, 3}), real({4, 1}, 0.5, 2), div, over),
               binary("div_scalars", real({}), real({}, 0.5, 2), div, over),
               binary("add_eight_axes", real({2, 1, 2, 1, 2, 1, 2, 1}),
                      real({1, 2, 1, 2, 1, 2, 1, 2}), add, plus),
               {.name = "affine",
                .inputs = {real({3, 4})},
                .call = [](auto in) { return std::vector{1.0 - 2.5 * in[0]}; },
                .reference =
                    [](const std::vector<Array>& in) {
                      Array y(in[0].shape);
                      for (int64_t i = 0; i < count(y.shape); ++i) y[i] = 1.0 - 2.5 * in[0][i];
                      return std::vector{y};
                    }}},
      .bad = {
          {"shapes",
           [] {
             add(ones({2, 3}), ones({4}));
           },
           "add: the shapes do not broadcast: [2, 3] and [4]. Sizes must be equal or 1, aligned "
           "at the last axis."},
          {"types", [] { mul(ones({2}), ones({2}, {.dtype = DType::f64})); },
           "mul: the types differ: f32 and f64. Cast one of them."},
          {"integers", [] { affine(ones({2}, {.dtype = DType::i64}), 2, 0); },
           "affine: a floating type is needed: got i64. Cast it first."},
          {"undefined", [] { add(Tensor(), ones({2})); },
           "add: input 0 is undefined. Pass a tensor that was computed."}}};
}

}  // namespace plimsoll
