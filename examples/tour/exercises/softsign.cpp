// Exercise 1: an op. Fill in f and its derivative; the engine makes the rest of them.
#include "examples/tour/exercises/exercises.h"
#include "ops/common/pointwise.h"

namespace plimsoll::exercises {

struct Softsign {
  static constexpr const char *name = "softsign", *grad_name = "softsign_grad";
  static constexpr Reads reads = Reads::input;  // what df is given, and the tape keeps
  template <class T>
  static constexpr T f(T) {
    return T(0);  // write: x / (1 + |x|)
  }
  template <class T>
  static constexpr T df(T) {
    return T(0);  // write: its derivative, of what `reads` says
  }
};

Tensor softsign(const Tensor& x) { return unary<Softsign>(x); }

}  // namespace plimsoll::exercises
