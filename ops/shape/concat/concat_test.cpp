#include "ops/shape/concat/concat.h"

#include "ops/random/full/full.h"
#include "ops/shape/view/view.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

// Rows of the tensors one after another: sizes before the axis are rows, from the axis on a row.
std::vector<Array> joined(const std::vector<Array>& in, int axis) {
  Shape out = in[0].shape;
  out[axis] = 0;
  int64_t rows = 1, total = 0;
  for (const Array& x : in) out[axis] += x.shape[axis];
  for (int a = 0; a < axis; ++a) rows *= out[a];
  Array y(out);
  for (int64_t row = 0; row < rows; ++row)
    for (const Array& x : in) {
      const int64_t n = count(x.shape) / rows;
      for (int64_t i = 0; i < n; ++i) y[total++] = x[row * n + i];
    }
  return {y};
}

OpCase joins(const char* name, std::vector<InputSpec> inputs, int64_t axis) {
  const int rank = inputs[0].shape.rank();
  const int own = static_cast<int>(axis < 0 ? axis + rank : axis);
  return {.name = name,
          .inputs = inputs,
          .call = [axis](auto in) { return std::vector{concat(in, axis)}; },
          .reference = [own](const std::vector<Array>& in) { return joined(in, own); },
          .differentiable = !inputs[0].integer};
}

}  // namespace

OpCases concat_cases() {
  OpCases cases{
      .good = {joins("rows", {real({2, 3}), real({4, 3})}, 0),
               joins("columns", {real({2, 3}), real({2, 1}), real({2, 2})}, 1),
               joins("middle", {real({2, 1, 3}), real({2, 4, 3})}, -2),
               joins("one", {real({2, 3})}, 0),
               joins("with_empty", {real({2, 0}), real({2, 3}), real({2, 0})}, -1),
               joins("all_empty", {real({0, 2}), real({0, 3})}, 1),
               joins("integers", {index({3}, 9), index({2}, 9)}, 0)},
      .bad = {{"none", [] { concat({}, 0); },
               "concat: there is no tensor to join: 0 were given. Pass at least one."},
              {"undefined",
               [] {
                 concat(std::array{ones({2}), Tensor()}, 0);
               },
               "concat: the tensor is undefined. Pass one that was computed."},
              {"axis",
               [] {
                 concat(std::array{ones({2}), ones({2})}, 1);
               },
               "concat: the axis does not exist: axis 1 of a tensor with 1 axes. Count axes from "
               "0, or from -1 backwards."},
              {"scalars",
               [] {
                 concat(std::array{ones({}), ones({})}, 0);
               },
               "concat: the axis does not exist: axis 0 of a tensor with 0 axes. Count axes from "
               "0, or from -1 backwards."},
              {"sizes",
               [] {
                 concat(std::array{ones({2, 3}), ones({2, 3}), ones({3, 3})}, 1);
               },
               "concat: the shapes do not fit along axis 1: tensor 0 is [2, 3], tensor 2 is "
               "[3, 3]. All other sizes must be equal."},
              {"ranks",
               [] {
                 concat(std::array{ones({2, 3}), ones({2})}, 0);
               },
               "concat: the shapes do not fit along axis 0: tensor 0 is [2, 3], tensor 1 is [2]. "
               "All other sizes must be equal."},
              {"types",
               [] {
                 concat(std::array{ones({2}), ones({2}, {.dtype = DType::f64})}, 0);
               },
               "concat: the types differ: tensor 0 is f32, tensor 1 is f64. Cast one of them."}}};

  // Views are read where they are.
  OpCase turned = joins("transposed", {real({3, 2}), real({2, 3})}, 0);
  turned.call = [](auto in) { return std::vector{concat(std::array{transpose(in[0]), in[1]}, 0)}; };
  turned.reference = [](std::vector<Array> in) {
    Array t({2, 3});
    for (int64_t i = 0; i < 6; ++i) t[i] = in[0][i % 3 * 2 + i / 3];
    in[0] = t;
    return joined(in, 0);
  };
  cases.good.push_back(turned);
  // The same tensor twice: its gradient is the sum of both slices.
  OpCase twice = joins("twice", {real({2, 3})}, 0);
  twice.call = [](auto in) { return std::vector{concat(std::array{in[0], in[0]}, 0)}; };
  twice.reference = [](const std::vector<Array>& in) { return joined({in[0], in[0]}, 0); };
  cases.good.push_back(twice);
  // More inputs than a set of Bits has numbers.
  OpCase many = joins("many", {real({1, 2}), real({2, 2}), real({1, 2})}, 0);
  const auto repeated = []<class T>(std::span<const T> in) {
    std::vector<T> all;
    for (int i = 0; i < 35; ++i) all.insert(all.end(), in.begin(), in.end());
    return all;
  };
  many.call = [=](auto in) { return std::vector{concat(repeated(in), 0)}; };
  many.reference = [=](const std::vector<Array>& in) { return joined(repeated(std::span(in)), 0); };
  cases.good.push_back(many);
  return cases;
}

}  // namespace plimsoll
