#include "ops/sgd_update/sgd_update.h"

#include "core/apply.h"
#include "core/cpu/parallel.h"
#include "ops/copy/copy.h"
#include "ops/update.h"

namespace plimsoll {
namespace {

constexpr const char* kName = "sgd_update";

// Inputs: param, grad, lr, and with momentum the velocity.
Metas sgd_infer(std::span<const Meta> in, const Attrs& attrs) {
  check_options(kName, attrs.as<SgdUpdate>());
  check_gradient(kName, in[0], in[1]);
  check_scalar(kName, "learning rate", in[2]);
  if (in.size() > 3) check_state(kName, "velocity", in[0], in[3]);
  return {};
}

template <class T>
void sgd_typed(const Call& call, const SgdUpdate& options) {
  using C = Compute<T>;
  const C lr = static_cast<C>(read_scalar(call.in[2]));
  const C decay = static_cast<C>(options.weight_decay), momentum = static_cast<C>(options.momentum);
  const bool nesterov = options.nesterov;
  T* param = call.in[0].as<T>();
  const T* grad = call.in[1].as<T>();
  C* velocity = call.in.size() > 3 ? call.in[3].as<C>() : nullptr;
  parallel_for(count(call.in[0].shape()), grain_for(1), [&](int64_t begin, int64_t end) {
    if (velocity) {
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) {
        const C p = static_cast<C>(param[i]);
        const C g = static_cast<C>(grad[i]) + decay * p;
        const C v = momentum * velocity[i] + g;
        velocity[i] = v;
        param[i] = static_cast<T>(p - lr * (nesterov ? g + momentum * v : v));
      }
    } else {
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) {
        const C p = static_cast<C>(param[i]);
        param[i] = static_cast<T>(p - lr * (static_cast<C>(grad[i]) + decay * p));
      }
    }
  });
}

void sgd_cpu(const Call& call) {
  visit_floating(kName, call.in[0].dtype(),
                 [&]<class T>() { sgd_typed<T>(call, call.attrs.as<SgdUpdate>()); });
}

constexpr OpDef sgd_op{.name = kName, .infer = sgd_infer, .cpu = sgd_cpu, .mutates = bits(0, 3)};

}  // namespace

void check_options(const char* op, const SgdUpdate& o) {
  check<ValueError>(o.momentum >= 0 && o.weight_decay >= 0, op,
                    ": an option is not a number from 0: momentum ", o.momentum, ", weight_decay ",
                    o.weight_decay, ". Use 0 or more.");
  check<ValueError>(!o.nesterov || o.momentum > 0, op, ": nesterov needs momentum: got momentum ",
                    o.momentum, ". Set momentum, to 0.9 for example.");
}

void sgd_update(const Tensor& param, const Tensor& grad, const Tensor& velocity, const Tensor& lr,
                const SgdUpdate& options) {
  check<ValueError>(velocity.defined() == (options.momentum != 0), kName,
                    ": a velocity goes with momentum: momentum ", options.momentum,
                    velocity.defined() ? " with a velocity" : " without a velocity",
                    ". Pass both or neither.");
  if (velocity.defined())
    apply(sgd_op, {param, contiguous(grad), lr, velocity}, options);
  else
    apply(sgd_op, {param, contiguous(grad), lr}, options);
}

extern const std::vector<const OpDef*> sgd_update_ops;
const std::vector<const OpDef*> sgd_update_ops{&sgd_op};

}  // namespace plimsoll
