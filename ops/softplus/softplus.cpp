#include "ops/softplus/softplus.h"

#include "core/cpu/math.h"
#include "ops/pointwise.h"

namespace plimsoll {
namespace {

struct Softplus {
  static constexpr const char *name = "softplus", *grad_name = "softplus_grad";
  static constexpr CastRule cast = CastRule::full;
  // The output would do too, but 1 - exp(-y) cancels where y is small.
  static constexpr Reads reads = Reads::input;
  template <class T>
  static T f(T x) {
    return (x > 0 ? x : T(0)) + math::log_one_plus(math::exp(x < 0 ? x : -x));
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
