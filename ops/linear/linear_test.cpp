#include "ops/linear/linear.h"

#include "ops/full/full.h"
#include "tests/op_case.h"

namespace plimsoll {
namespace {

std::vector<Array> reference(const std::vector<Array>& in) {
  const Array &x = in[0], &w = in[1];
  const int64_t outputs = w.size(0), inputs = w.size(1);
  Shape shape = x.shape;
  shape[shape.rank() - 1] = outputs;
  Array y(shape);
  for (int64_t e = 0; e < count(shape); ++e) {
    const int64_t row = e / outputs, o = e % outputs;
    double total = in.size() == 3 ? in[2][o] : 0;
    for (int64_t i = 0; i < inputs; ++i) total += x[row * inputs + i] * w[o * inputs + i];
    y[e] = total;
  }
  return {y};
}

OpCase with_bias(const char* name, Shape x, int64_t outputs) {
  return {.name = name,
          .inputs = {real(x), real({outputs, x.back()}), real({outputs})},
          .call = [](auto in) { return std::vector{linear(in[0], in[1], in[2])}; },
          .reference = reference};
}

OpCase without_bias(const char* name, Shape x, int64_t outputs) {
  return {.name = name,
          .inputs = {real(x), real({outputs, x.back()})},
          .call = [](auto in) { return std::vector{linear(in[0], in[1])}; },
          .reference = reference};
}

}  // namespace

OpCases linear_cases() {
  return {
      .good = {with_bias("rows", {5, 7}, 3), with_bias("three_axes", {2, 3, 5}, 4),
               with_bias("vector", {6}, 5), with_bias("one", {1, 1}, 1),
               with_bias("no_rows", {0, 3}, 2), with_bias("no_inputs", {2, 0}, 3),
               with_bias("no_outputs", {2, 3}, 0), without_bias("plain", {4, 9}, 5),
               without_bias("plain_four_axes", {2, 1, 3, 4}, 17),
               without_bias("plain_no_inputs", {3, 0}, 2)},
      .bad = {
          {"inner",
           [] {
             linear(ones({2, 3}), ones({5, 4}));
           },
           "linear: the inner sizes differ: x [2, 3] and w [5, 4]. The last axis of x must equal "
           "the last axis of w."},
          {"scalar",
           [] {
             linear(ones({}), ones({5, 4}));
           },
           "linear: the inner sizes differ: x [] and w [5, 4]. The last axis of x must equal the "
           "last axis of w."},
          {"weight",
           [] {
             linear(ones({2, 3}), ones({3}));
           },
           "linear: the weight is not a matrix: [3]. Give it the shape [outputs, inputs]."},
          {"bias",
           [] {
             linear(ones({2, 3}), ones({5, 3}), ones({3}));
           },
           "linear: the bias does not fit: [3] for w [5, 3]. Give it the shape [5]."},
          {"types",
           [] {
             linear(ones({2, 3}), ones({5, 3}, {.dtype = DType::f64}));
           },
           "linear: tensors of one floating type are needed: got f32 and f64. Cast one of them."},
          {"integers",
           [] {
             linear(ones({2, 3}, {.dtype = DType::i64}), ones({5, 3}, {.dtype = DType::i64}));
           },
           "linear: tensors of one floating type are needed: got i64 and i64. Cast one of "
           "them."}}};
}

}  // namespace plimsoll
