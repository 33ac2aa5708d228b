// Values and gradients of every op and case: against its reference in every dtype, and against
// finite differences in f64.
#include "autograd/gradcheck.h"
#include "ops/ops.h"
#include "tests/suites/suite.h"

namespace plimsoll {
namespace {

struct Tolerance {
  double forward, gradient;
};

Tolerance tolerance(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return {1e-12, 1e-12};
    case DType::f32:
      return {2e-6, 5e-6};
    case DType::f16:
      return {5e-3, 1e-2};
    default:
      return {2e-2, 4e-2};
  }
}

PLIMSOLL_SUITE(Forward) {
  const OpCase& c = GetParam().op_case;
  for (const DType dtype : c.dtypes) {
    const std::vector<Tensor> inputs = make_inputs(c, dtype);
    std::vector<Array> arrays;
    for (const Tensor& x : inputs) arrays.push_back(to_array(x));
    const std::vector<Array> expected = c.reference(arrays);
    const std::vector<Tensor> actual = c.call(inputs);
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t k = 0; k < actual.size(); ++k) {
      ASSERT_EQ(actual[k].shape(), expected[k].shape) << cat(actual[k].meta());
      EXPECT_LE(relative_error(to_array(actual[k]), expected[k]),
                c.tolerance * tolerance(dtype).forward)
          << "output " << k << " in " << name_of(dtype);
    }
  }
}

// A gradient in a narrower type is the f64 gradient, rounded on the way.
PLIMSOLL_SUITE(GradientDtypes) {
  const OpCase& c = GetParam().op_case;
  if (!c.differentiable) return;
  for (const DType dtype : c.dtypes) {
    const std::vector<Tensor> narrow = make_inputs(c, dtype);
    std::vector<Tensor> wide;
    for (const Tensor& x : narrow) wide.push_back(is_floating(x.dtype()) ? cast(x, DType::f64) : x);
    const std::vector<Tensor> actual = outputs_and_gradients(c, narrow);
    const std::vector<Tensor> expected = outputs_and_gradients(c, wide);
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t k = 0; k < actual.size(); ++k)
      EXPECT_LE(relative_error(to_array(actual[k]), to_array(expected[k])),
                c.tolerance * tolerance(dtype).gradient)
          << "result " << k << " in " << name_of(dtype);
  }
}

PLIMSOLL_SUITE(Gradcheck) {
  const OpCase& c = GetParam().op_case;
  if (!c.differentiable) return;
  // Of larger inputs the other elements count in Covector's one number only.
  const GradcheckResult result =
      gradcheck(c.call, make_inputs(c, DType::f64), {.elements_per_input = 400});
  EXPECT_TRUE(result.ok) << result.message;
}

// <u, J v> by a central difference along a random direction v equals <J'u, v>.
PLIMSOLL_SUITE(Covector) {
  const OpCase& c = GetParam().op_case;
  if (!c.differentiable) return;
  const std::vector<Tensor> inputs = make_inputs(c, DType::f64);
  OpCase directions = c;
  for (InputSpec& spec : directions.inputs)
    if (!spec.integer) spec = real(spec.shape, -0.5, 1.5);
  const std::vector<Tensor> v = make_inputs(directions, DType::f64);

  const auto weighted = [&](double h) {
    std::vector<Tensor> moved;
    for (size_t i = 0; i < inputs.size(); ++i)
      moved.push_back(is_floating(inputs[i].dtype()) ? inputs[i] + v[i] * h : inputs[i]);
    double total = 0;
    for (const Tensor& y : c.call(moved)) {
      if (!is_floating(y.dtype())) continue;
      const std::vector<double> values = y.to_vector<double>();
      for (size_t i = 0; i < values.size(); ++i) total += values[i] * std::cos(double(i));
    }
    return total;
  };
  std::vector<Tensor> leaves, wanted;
  for (const Tensor& x : inputs) {
    leaves.push_back(is_floating(x.dtype()) ? x.detach().require_grad() : x);
    if (is_floating(x.dtype())) wanted.push_back(leaves.back());
  }
  Tensor total;
  for (const Tensor& y : c.call(leaves)) {
    if (!y.needs_grad()) continue;
    std::vector<double> u;
    for (int64_t i = 0; i < y.count(); ++i) u.push_back(std::cos(double(i)));
    const Tensor term = sum(y * Tensor::of<double>(std::span<const double>(u), y.shape()));
    total = total.defined() ? total + term : term;
  }
  ASSERT_TRUE(total.defined()) << "no output depends on the inputs";
  const std::vector<Tensor> grads = gradients(total, wanted);
  double analytic = 0;
  for (size_t k = 0, i = 0; i < inputs.size(); ++i) {
    if (!is_floating(inputs[i].dtype())) continue;
    const auto g = grads[k++].to_vector<double>(), d = v[i].to_vector<double>();
    for (size_t e = 0; e < g.size(); ++e) analytic += g[e] * d[e];
  }
  const double h = 1e-5, numeric = (weighted(h) - weighted(-h)) / (2 * h);
  EXPECT_NEAR(numeric, analytic, 1e-6 * std::max({1.0, std::abs(numeric), std::abs(analytic)}));
}

}  // namespace
}  // namespace plimsoll
