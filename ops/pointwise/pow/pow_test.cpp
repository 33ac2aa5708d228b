#include "ops/pointwise/pow/pow.h"

#include "autograd/gradients.h"
#include "ops/random/full/full.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

constexpr double kExponents[] = {0, 1, 2, 3, 4, -1, -2, 0.5, -0.5, 1.5, 2.5};

OpCase raised(const std::string& name, InputSpec x, double c) {
  return {.name = name,
          .inputs = {x},
          .call = [c](auto in) { return std::vector{pow(in[0], c)}; },
          .reference =
              [c](const std::vector<Array>& in) {
                Array y = in[0];
                for (double& v : y.values) v = std::pow(v, c);
                return std::vector{y};
              }};
}

// a [rows, columns] and b that repeats along an axis of size 1.
OpCase powers(const std::string& name, InputSpec a, InputSpec b) {
  return {.name = name,
          .inputs = {a, b},
          .call = [](auto in) { return std::vector{pow(in[0], in[1])}; },
          .reference =
              [](const std::vector<Array>& in) {
                Array y(broadcast("reference", in[0].shape, in[1].shape));
                const auto at = [&](const Array& x, int64_t row, int64_t column) {
                  return x[(x.size(0) == 1 ? 0 : row) * x.size(1) + (x.size(1) == 1 ? 0 : column)];
                };
                for (int64_t i = 0; i < y.size(0); ++i)
                  for (int64_t j = 0; j < y.size(1); ++j)
                    y[i * y.size(1) + j] = std::pow(at(in[0], i, j), at(in[1], i, j));
                return std::vector{y};
              }};
}

// The gradients for dy = 1.
OpCase slopes(const std::string& name, std::vector<InputSpec> inputs,
              Tensor (*op)(std::span<const Tensor>), std::vector<std::vector<double>> expected) {
  return {.name = name,
          .inputs = inputs,
          .call =
              [op](auto in) {
                std::vector<Tensor> leaves;
                for (const Tensor& x : in) leaves.push_back(x.detach().require_grad());
                const Tensor y = op(leaves);
                return gradients(y, leaves, {.seed = full(y.shape(), 1, {y.dtype(), y.device()})});
              },
          .reference =
              [expected](const std::vector<Array>& in) {
                std::vector<Array> grads(in);
                for (size_t i = 0; i < in.size(); ++i) grads[i].values = expected[i];
                return grads;
              },
          .differentiable = false};
}

}  // namespace

OpCases pow_cases() {
  OpCases cases;
  for (const double c : kExponents) {
    const std::string name = cat("constant_", c);
    cases.good.push_back(raised(name, real({5, 7}, 0.5, 2), c));
    OpCase edges =
        raised(name + "_edges", given({9}, {0, -0.0, 1, -1, 4, -4, kInf, -kInf, kNaN}), c);
    edges.differentiable = false;
    cases.good.push_back(edges);
  }
  cases.good.push_back(raised("negative_bases", real({5, 7}, -2, -0.5), 3));
  cases.good.push_back(raised("negative_bases_libm", real({5, 7}, -2, -0.5), 5));
  cases.good.push_back(raised("scalar", real({}, 0.5, 1), 1.5));
  cases.good.push_back(raised("empty", real({3, 0}), 1.5));
  const InputSpec x = given({4}, {0, -2, 2, 0.25});
  cases.good.push_back(
      slopes("gradient_0", {x}, [](auto in) { return pow(in[0], 0); }, {{0, 0, 0, 0}}));
  cases.good.push_back(
      slopes("gradient_1", {x}, [](auto in) { return pow(in[0], 1); }, {{1, 1, 1, 1}}));
  cases.good.push_back(
      slopes("gradient_2", {x}, [](auto in) { return pow(in[0], 2); }, {{0, -4, 4, 0.5}}));
  cases.good.push_back(slopes("gradient_half", {given({3}, {0, 4, 0.25})},
                              [](auto in) { return pow(in[0], 0.5); }, {{kInf, 0.25, 1}}));

  cases.good.push_back(powers("tensors", real({5, 7}, 0.5, 2), real({5, 7}, -2, 2)));
  cases.good.push_back(powers("column_base", real({5, 1}, 0.5, 2), real({5, 7}, -2, 2)));
  cases.good.push_back(powers("row_exponent", real({5, 7}, 0.5, 2), real({1, 7}, -2, 2)));
  cases.good.push_back(powers("tensors_empty", real({0, 7}), real({1, 7})));
  OpCase edges = powers("tensors_edges", given({5, 1}, {0, -0.0, -2, kInf, kNaN}),
                        given({1, 6}, {0, 2, 3, -1, 0.5, kNaN}));
  edges.differentiable = false;
  cases.good.push_back(edges);
  cases.good.push_back(
      slopes("tensors_gradient", {given({4}, {0, 0, 1, -2}), given({4}, {0, 2, 3, 3})},
             [](auto in) { return pow(in[0], in[1]); }, {{0, 0, 3, 12}, {0, 0, 0, kNaN}}));
  cases.bad = {{"integers", [] { pow(ones({2}, {.dtype = DType::i32}), 2); },
                "pow: a floating type is needed: got i32 [2] on cpu. Cast it first."},
               {"types", [] { pow(ones({2}), ones({2}, {.dtype = DType::f64})); },
                "pow: the types differ: f32 and f64. Cast one of them."},
               {"shapes", [] { pow(ones({2}), ones({3})); },
                "pow: the shapes do not broadcast: [2] and [3]. Sizes must be equal or 1, aligned "
                "at the last "
                "axis."}};
  return cases;
}

}  // namespace plimsoll
