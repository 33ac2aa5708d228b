#include "ops/linear/linear.h"

#include "ops/full/full.h"
#include "ops/linear/epilogues.h"
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

double gelu(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
}
double gelu_slope(double x) {
  const double c = std::sqrt(2 / std::acos(-1.0)), t = std::tanh(c * (x + 0.044715 * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * c * (1 + 3 * 0.044715 * x * x);
}

// The sums over the rows of the last axis.
Array row_sums(const Array& x) {
  const int64_t columns = x.shape.back();
  Array sums({columns});
  for (int64_t e = 0; e < count(x.shape); ++e) sums[e % columns] += x[e];
  return sums;
}

// What a captured step gets by a pass: written after gradients, so there are none of these.
OpCase with_gelu(const char* name, Shape x, int64_t outputs, bool both) {
  std::vector<InputSpec> inputs{real(x)};
  inputs.push_back(real({outputs, x.back()}));
  if (both) inputs.push_back(real({outputs}));
  return {.name = name,
          .inputs = inputs,
          .call =
              [both](auto in) {
                const auto [y, h] =
                    linear_gelu_tanh(in[0], in[1], both ? in[2] : Tensor(), {.both = both});
                return both ? std::vector{y, h} : std::vector{y};
              },
          .reference =
              [both](const std::vector<Array>& in) {
                const Array h = reference(in)[0];
                Array y = h;
                for (double& v : y.values) v = gelu(v);
                return both ? std::vector{y, h} : std::vector{y};
              },
          .differentiable = false};
}

OpCase gelu_gradient(const char* name, int64_t outputs, Shape h, bool both) {
  const int64_t inputs = h.back(), rows = inputs > 0 ? count(h) / inputs : 0;
  return {.name = name,
          .inputs = {real({rows, outputs}), real({outputs, inputs}), real(h, -3, 3)},
          .call =
              [both](auto in) {
                const auto [dh, db] = matmul_gelu_tanh_grad(in[0], in[1], in[2], {.both = both});
                return both ? std::vector{dh, db} : std::vector{dh};
              },
          .reference =
              [both](const std::vector<Array>& in) {
                Array dh = in[2];
                const int64_t inputs = in[1].size(1), outputs = in[1].size(0);
                for (int64_t e = 0; e < count(dh.shape); ++e) {
                  double total = 0;
                  for (int64_t o = 0; o < outputs; ++o)
                    total += in[0][e / inputs * outputs + o] * in[1][o * inputs + e % inputs];
                  dh[e] = total * gelu_slope(in[2][e]);
                }
                return both ? std::vector{dh, row_sums(dh)} : std::vector{dh};
              },
          .differentiable = false};
}

OpCase weight_gradient(const char* name, int64_t rows, int64_t outputs, int64_t inputs) {
  return {.name = name,
          .inputs = {real({rows, outputs}), real({rows, inputs})},
          .call =
              [](auto in) {
                const auto [dw, db] = linear_weight_grad(in[0], in[1]);
                return std::vector{dw, db};
              },
          .reference =
              [rows, outputs, inputs](const std::vector<Array>& in) {
                Array dw({outputs, inputs});
                for (int64_t r = 0; r < rows; ++r)
                  for (int64_t e = 0; e < outputs * inputs; ++e)
                    dw[e] += in[0][r * outputs + e / inputs] * in[1][r * inputs + e % inputs];
                return std::vector{dw, row_sums(in[0])};
              },
          .differentiable = false};
}

}  // namespace

OpCases linear_cases() {
  return {
      .good = {with_bias("rows", {5, 7}, 3),
               with_bias("three_axes", {2, 3, 5}, 4),
               with_bias("vector", {6}, 5),
               with_bias("one", {1, 1}, 1),
               with_bias("no_rows", {0, 3}, 2),
               with_bias("no_inputs", {2, 0}, 3),
               with_bias("no_outputs", {2, 3}, 0),
               without_bias("plain", {4, 9}, 5),
               without_bias("plain_four_axes", {2, 1, 3, 4}, 17),
               without_bias("plain_no_inputs", {3, 0}, 2),
               with_gelu("gelu", {5, 7}, 3, true),
               with_gelu("gelu_three_axes", {2, 3, 5}, 8, true),
               with_gelu("gelu_aligned", {2, 8, 64}, 32, true),
               with_gelu("gelu_alone", {2, 8, 16}, 32, false),
               with_gelu("gelu_no_rows", {0, 3}, 2, true),
               with_gelu("gelu_no_inputs", {2, 0}, 3, true),
               gelu_gradient("gelu_gradient", 3, {5, 7}, true),
               gelu_gradient("gelu_gradient_three_axes", 4, {2, 3, 8}, true),
               gelu_gradient("gelu_gradient_aligned", 32, {2, 8, 64}, true),
               gelu_gradient("gelu_gradient_alone", 32, {2, 8, 64}, false),
               gelu_gradient("gelu_gradient_no_rows", 4, {0, 8}, true),
               gelu_gradient("gelu_gradient_no_outputs", 0, {2, 8}, true),
               weight_gradient("weight_gradient", 5, 7, 3),
               weight_gradient("weight_gradient_wide", 6, 8, 16),
               weight_gradient("weight_gradient_no_rows", 0, 3, 2),
               weight_gradient("weight_gradient_no_inputs", 4, 3, 0)},
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
           "them."},
          {"gelu_inner",
           [] {
             linear_gelu_tanh(ones({2, 3}), ones({5, 4}), {});
           },
           "linear: the inner sizes differ: x [2, 3] and w [5, 4]. The last axis of x must equal "
           "the last axis of w."},
          {"gelu_gradient",
           [] {
             matmul_gelu_tanh_grad(ones({2, 3}), ones({3, 8}), ones({3, 8}));
           },
           "matmul_gelu_tanh_grad: the input of gelu does not fit: [3, 8] for a product [2, 8]. "
           "Give it as many rows, of as many elements."},
          {"gelu_gradient_types",
           [] {
             matmul_gelu_tanh_grad(ones({2, 3}), ones({3, 8}), ones({2, 8}, {.dtype = DType::f64}));
           },
           "matmul_gelu_tanh_grad: the types differ: f32 and f64. Cast one of them."},
          {"weight_gradient",
           [] {
             linear_weight_grad(ones({2, 3}), ones({3, 2}));
           },
           "linear_weight_grad: they are not matrices of as many rows: [2, 3] and [3, 2]. Reshape "
           "them."},
          {"weight_gradient_types",
           [] {
             linear_weight_grad(ones({2, 3}), ones({2, 3}, {.dtype = DType::f64}));
           },
           "linear_weight_grad: two tensors of one floating type are needed: got f32 and f64. Cast "
           "one of them."}}};
}

}  // namespace plimsoll
