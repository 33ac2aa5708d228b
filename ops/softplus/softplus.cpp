#include "ops/softplus/softplus.h"

#include <cmath>

#include "core/cpu/math.h"
#include "ops/pointwise.h"

namespace plimsoll {
namespace {

// log(1 + e) for e in [0, 1] is 2 (s + s^3/3 + s^5/5 + ...) with s = e / (2 + e) <= 1/3
// (Abramowitz and Stegun 4.1.27). 1 + e, which would drop the digits of a small e, is never formed.
// The series is cut where the rest is below 2e-8 of the sum.
float log_one_plus(float e) {
  const float s = e / (2 + e), q = s * s;
  float p = 1.0f / 13;
  p = p * q + 1.0f / 11;
  p = p * q + 1.0f / 9;
  p = p * q + 1.0f / 7;
  p = p * q + 1.0f / 5;
  p = p * q + 1.0f / 3;
  p = p * q + 1.0f;
  return 2 * s * p;
}
double log_one_plus(double e) { return std::log1p(e); }

struct Softplus {
  static constexpr const char *name = "softplus", *grad_name = "softplus_grad";
  // The output would do too, but 1 - exp(-y) cancels where y is small.
  static constexpr Reads reads = Reads::input;
  template <class T>
  static T f(T x) {
    return (x > 0 ? x : T(0)) + log_one_plus(math::exp(x < 0 ? x : -x));
  }
  template <class T>
  static T df(T x) {
    return math::sigmoid(x);
  }
};

}  // namespace

Tensor softplus(const Tensor& x) { return apply1(Unary<Softplus>::op, {contiguous(x)}); }

extern const std::vector<const OpDef*> softplus_ops;
const std::vector<const OpDef*> softplus_ops{&Unary<Softplus>::op, &Unary<Softplus>::grad};

}  // namespace plimsoll
