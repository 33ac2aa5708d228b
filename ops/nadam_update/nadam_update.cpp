#include "ops/nadam_update/nadam_update.h"

#include "ops/update.h"

namespace plimsoll {
namespace {

double momentum(const NadamUpdate& o, double t) {
  return o.beta1 * (1 - 0.5 * std::pow(0.96, t * o.momentum_decay));
}

// M_t, multiplied in the order of t. It is a function of its arguments; what is remembered is only
// how far the last call of this thread came, since the next one mostly asks for that or one more.
double momentum_product(const NadamUpdate& o, double t) {
  struct Last {
    double beta1 = -1, decay = -1, t = 0, product = 1;
  };
  thread_local Last last;
  if (last.beta1 != o.beta1 || last.decay != o.momentum_decay || last.t > t)
    last = {o.beta1, o.momentum_decay, 0, 1};
  while (last.t < t && last.product > 0) last.product *= momentum(o, ++last.t);  // 0 stays 0
  return last.product;
}

template <class C>
struct NadamStep {
  C of_gradient, of_moment, unbias, beta1, rest1, beta2, rest2, eps, l2;

  NadamStep(const NadamUpdate& o, double lr, double t)
      : unbias(static_cast<C>(1 / std::sqrt(1 - std::pow(o.beta2, t)))),
        beta1(static_cast<C>(o.beta1)),
        rest1(static_cast<C>(1 - o.beta1)),
        beta2(static_cast<C>(o.beta2)),
        rest2(static_cast<C>(1 - o.beta2)),
        eps(static_cast<C>(o.eps)),
        l2(static_cast<C>(o.weight_decay)) {
    const double mu = momentum(o, t), next = momentum(o, t + 1), product = momentum_product(o, t);
    of_gradient = static_cast<C>(lr * (1 - mu) / (1 - product));
    of_moment = static_cast<C>(lr * next / (1 - product * next));
  }

  C operator()(C p, C grad, C& m, C& v) const {
    const C g = grad + l2 * p;
    m = beta1 * m + rest1 * g;
    v = beta2 * v + rest2 * g * g;
    return p - (of_gradient * g + of_moment * m) / (std::sqrt(v) * unbias + eps);
  }
};

struct Nadam {
  static constexpr const char* name = "nadam_update";
  static constexpr std::array slots{"first moment", "second moment"};
  using Options = NadamUpdate;
  template <class C>
  using Step = NadamStep<C>;
};

}  // namespace

void check_options(const char* op, const NadamUpdate& o) {
  check_share(op, "beta1", o.beta1);
  check_share(op, "beta2", o.beta2);
  check_number(op, "eps", o.eps);
  check_number(op, "momentum_decay", o.momentum_decay);
  check_number(op, "weight_decay", o.weight_decay);
}

void nadam_update(const Tensor& param, const Tensor& grad, const Tensor& m, const Tensor& v,
                  const Tensor& step, const Tensor& lr, const NadamUpdate& options,
                  const Tensor& skip) {
  update<Nadam>(param, grad, step, lr, options, skip, m, v);
}

extern const std::vector<const OpDef*> nadam_update_ops;
const std::vector<const OpDef*> nadam_update_ops{&Update<Nadam>::op};

}  // namespace plimsoll
