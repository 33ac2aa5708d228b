// gradcheck: the gradients of a function against finite differences, in f64.
//
//   const auto r = gradcheck([](auto in) { return std::vector{softmax(in[0])}; }, std::array{x});
//   r.ok;                              // and r.message says where and by how much it is off
#pragma once

#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "core/tensor/tensor.h"

namespace plimsoll {

using TensorFunction = std::function<std::vector<Tensor>(std::span<const Tensor>)>;

struct GradcheckOptions {
  double step = 1e-5;  // h of (f(x + h) - f(x - h)) / 2h; its error is of order h^2
  double rtol = 1e-6;  // allowed: |numeric - analytic| <= rtol * max(1, |numeric|, |analytic|)
  uint64_t seed = 1;   // of the covector the outputs are weighted with
  int64_t elements_per_input = std::numeric_limits<int64_t>::max();  // at most, evenly spread
};

struct GradcheckResult {
  bool ok = true;
  double worst = 0;     // largest |numeric - analytic| / max(1, |numeric|, |analytic|)
  std::string message;  // empty when ok
};

// Checks d<u, f(x)>/dx for a random covector u, element by element, for every input of type f64. It
// calls f twice for each element; elements_per_input bounds them. Other inputs (labels, keys) are
// passed on. The inputs themselves are not touched: f sees contiguous copies. To check it on a
// strided view, take the view inside f. Fails as well when f returns no floating output that
// depends on the inputs. ValueError where elements_per_input is below 1.
GradcheckResult gradcheck(const TensorFunction& f, std::span<const Tensor> inputs,
                          const GradcheckOptions& options = {});

}  // namespace plimsoll
