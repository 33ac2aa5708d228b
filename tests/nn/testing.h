// What the tests of nn/ share: repeatable inputs, plain arrays, comparison by the largest element,
// parameters by name, the text of an error.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/engine/trace.h"
#include "nn/nn.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/random/dropout/dropout.h"
#include "ops/random/random/random.h"
#include "tests/support/errors.h"

namespace plimsoll::nn {

inline const Placement kDouble{.dtype = DType::f64};
inline const Placement kNull{.device = Device::null};

// Uniform in [-1, 1), f64; the same for the same seed.
inline Tensor draw(const Shape& shape, uint64_t seed) {
  return uniform(shape, -1, 1, seed, kDouble);
}

// Replaces every parameter by such draws: fresh gammas are 1 and fresh betas 0, which hides
// mistakes.
inline void shake(const Module& module, uint64_t seed) {
  for (const NamedTensor& parameter : module.named_parameters())
    assign(parameter.tensor,
           cast(draw(parameter.tensor.shape(), seed++), parameter.tensor.dtype()));
}

using Doubles = std::vector<double>;
inline Doubles values(const Tensor& x) { return x.to_vector<double>(); }

// The parameter or buffer of that name, as plain values.
inline Doubles values(const Module& module, const std::string& name) {
  for (const std::vector<NamedTensor>& all : {module.named_parameters(), module.named_buffers()})
    for (const NamedTensor& own : all)
      if (own.name == name) return values(own.tensor);
  ADD_FAILURE() << "there is no " << name;
  return {};
}

// max |a - b| / max |b|.
inline double distance(const Doubles& a, const Doubles& b) {
  if (a.size() != b.size()) return INFINITY;
  double worst = 0, scale = 1e-300;
  for (size_t i = 0; i < a.size(); ++i) {
    worst = std::max(worst, std::abs(a[i] - b[i]));
    scale = std::max(scale, std::abs(b[i]));
    if (std::isnan(a[i]) || std::isnan(b[i])) return INFINITY;
  }
  return worst / scale;
}

inline std::vector<std::string> names(const std::vector<NamedTensor>& all) {
  std::vector<std::string> result;
  for (const NamedTensor& own : all) result.push_back(own.name);
  return result;
}

// y[r, o] = sum_i x[r, i] w[o, i] + b[o], by plain loops; no bias where b is empty.
inline Doubles plain_linear(const Doubles& x, const Doubles& w, const Doubles& b, size_t in) {
  const size_t rows = x.size() / in, out = w.size() / in;
  Doubles y;
  for (size_t r = 0; r < rows; ++r)
    for (size_t o = 0; o < out; ++o) {
      double total = b.empty() ? 0 : b[o];
      for (size_t i = 0; i < in; ++i) total += x[r * in + i] * w[o * in + i];
      y.push_back(total);
    }
  return y;
}

}  // namespace plimsoll::nn
