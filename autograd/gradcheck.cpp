#include "autograd/gradcheck.h"

#include <numeric>

#include "autograd/gradients.h"
#include "autograd/no_grad.h"
#include "core/base/philox.h"
#include "ops/pointwise/arithmetic/arithmetic.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/reduction/sum/sum.h"

namespace plimsoll {
namespace {

// <u, f(x)>: u is drawn anew from the same seed each time, so it is the same u.
Tensor weighted(const TensorFunction& f, std::span<const Tensor> inputs, uint64_t seed) {
  Tensor total;
  uint64_t stream = 0;
  for (const Tensor& y : f(inputs)) {
    ++stream;
    if (y.dtype() != DType::f64) continue;
    std::vector<double> u;
    for (int64_t i = 0; i < y.count(); ++i)
      u.push_back(unit_float(random_words(seed, stream, static_cast<uint64_t>(i))[0]) + 0.5);
    const Tensor term = sum(y * Tensor::of<double>(std::span<const double>(u), y.shape()));
    total = total.defined() ? total + term : term;
  }
  check<ValueError>(total.defined(),
                    "gradcheck: the function has no f64 output among its results."
                    " Run it on f64 inputs.");
  return total;
}

}  // namespace

GradcheckResult gradcheck(const TensorFunction& f, std::span<const Tensor> inputs,
                          const GradcheckOptions& options) {
  check<ValueError>(options.elements_per_input > 0, "gradcheck: elements_per_input is ",
                    options.elements_per_input, ". Check at least one.");
  std::vector<Tensor> leaves, wanted;
  for (const Tensor& x : inputs) {
    leaves.push_back(x.dtype() == DType::f64 ? clone(x.detach()).require_grad() : x);
    if (x.dtype() == DType::f64) wanted.push_back(leaves.back());
  }
  const std::vector<Tensor> analytic = gradients(weighted(f, leaves, options.seed), wanted);

  const NoGrad scope;
  GradcheckResult result;
  for (size_t k = 0; k < wanted.size(); ++k) {
    const std::vector<double> expected = analytic[k].to_vector<double>();
    double* x = wanted[k].data<double>();
    const int64_t count = wanted[k].count();
    int64_t step = (count - 1) / options.elements_per_input + 1;
    while (std::gcd(step, count) > 1) ++step;  // of no axis it meets the same columns only
    for (int64_t i = 0; i < count; i += step) {
      const auto element = static_cast<size_t>(i);
      const double before = x[element];
      x[element] = before + options.step;
      const double above = weighted(f, leaves, options.seed).item();
      x[element] = before - options.step;
      const double below = weighted(f, leaves, options.seed).item();
      x[element] = before;
      const double numeric = (above - below) / (2 * options.step);
      const double scale = std::max({1.0, std::abs(numeric), std::abs(expected[element])});
      const double error = std::abs(numeric - expected[element]) / scale;
      if (!(error <= result.worst)) result.worst = error;
      if (!(error <= options.rtol) && result.ok) {
        result.ok = false;
        result.message = cat("gradcheck: input ", k, ", element ", element, ": analytic ",
                             expected[element], ", numeric ", numeric, ".");
      }
    }
  }
  return result;
}

}  // namespace plimsoll
