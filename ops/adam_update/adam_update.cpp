#include "ops/adam_update/adam_update.h"

#include "core/apply.h"
#include "core/cpu/parallel.h"
#include "ops/copy/copy.h"
#include "ops/update.h"

namespace plimsoll {
namespace {

constexpr const char* kName = "adam_update";

void check_counter(const char* op, const Meta& counter) {
  check<DTypeError>(counter.dtype == DType::i64, op, ": the step count must be i64: got ", counter,
                    ". Use zeros({}, {.dtype = DType::i64}).");
  check<ShapeError>(counter.shape.rank() == 0, op, ": the step count must be a scalar: got ",
                    counter, ". Use zeros({}, {.dtype = DType::i64}).");
}

// Inputs: param, grad, m, v, step, lr.
Metas adam_infer(std::span<const Meta> in, const Attrs& attrs) {
  check_options(kName, attrs.as<AdamUpdate>());
  check_gradient(kName, in[0], in[1]);
  check_state(kName, "first moment", in[0], in[2]);
  check_state(kName, "second moment", in[0], in[3]);
  check_counter(kName, in[4]);
  check_scalar(kName, "learning rate", in[5]);
  return {};
}

template <class T>
void adam_typed(const Call& call, const AdamUpdate& options) {
  using C = Compute<T>;
  const int64_t step = *call.in[4].as<int64_t>();
  check<ValueError>(step >= 1, kName, ": the step is counted from 1: got ", step,
                    ". Call increment() on it first.");
  // Everything that is the same for all elements, in double.
  const double lr = read_scalar(call.in[5]), t = static_cast<double>(step);
  const C rate = static_cast<C>(lr / (1 - std::pow(options.beta1, t)));
  const C unbias = static_cast<C>(1 / std::sqrt(1 - std::pow(options.beta2, t)));
  const C shrink = static_cast<C>(options.decoupled ? 1 - lr * options.weight_decay : 1);
  const C l2 = static_cast<C>(options.decoupled ? 0 : options.weight_decay);
  const C beta1 = static_cast<C>(options.beta1), beta2 = static_cast<C>(options.beta2);
  const C rest1 = static_cast<C>(1 - options.beta1), rest2 = static_cast<C>(1 - options.beta2);
  const C eps = static_cast<C>(options.eps);

  T* param = call.in[0].as<T>();
  const T* grad = call.in[1].as<T>();
  C *first = call.in[2].as<C>(), *second = call.in[3].as<C>();
  parallel_for(count(call.in[0].shape()), grain_for(1), [&](int64_t begin, int64_t end) {
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) {
      const C p = static_cast<C>(param[i]);
      const C g = static_cast<C>(grad[i]) + l2 * p;
      const C m = beta1 * first[i] + rest1 * g;
      const C v = beta2 * second[i] + rest2 * g * g;
      first[i] = m;
      second[i] = v;
      param[i] = static_cast<T>(p * shrink - rate * m / (std::sqrt(v) * unbias + eps));
    }
  });
}

void adam_cpu(const Call& call) {
  visit_floating(kName, call.in[0].dtype(),
                 [&]<class T>() { adam_typed<T>(call, call.attrs.as<AdamUpdate>()); });
}

constexpr OpDef adam_op{
    .name = kName, .infer = adam_infer, .cpu = adam_cpu, .mutates = bits(0, 2, 3)};

Metas increment_infer(std::span<const Meta> in, const Attrs&) {
  check_counter("increment", in[0]);
  return {};
}

void increment_cpu(const Call& call) { ++*call.in[0].as<int64_t>(); }

constexpr OpDef increment_op{
    .name = "increment", .infer = increment_infer, .cpu = increment_cpu, .mutates = bits(0)};

}  // namespace

void check_options(const char* op, const AdamUpdate& o) {
  const auto is_share = [](double beta) { return beta >= 0 && beta < 1; };
  check<ValueError>(is_share(o.beta1) && is_share(o.beta2), op,
                    ": a beta is out of range: ", o.beta1, " and ", o.beta2,
                    ". Use 0 <= beta < 1.");
  check<ValueError>(o.eps >= 0 && o.weight_decay >= 0, op,
                    ": an option is not a number from 0: ", "eps ", o.eps, ", weight_decay ",
                    o.weight_decay, ". Use 0 or more.");
}

void adam_update(const Tensor& param, const Tensor& grad, const Tensor& m, const Tensor& v,
                 const Tensor& step, const Tensor& lr, const AdamUpdate& options) {
  apply(adam_op, {param, contiguous(grad), m, v, step, lr}, options);
}

void increment(const Tensor& counter) { apply(increment_op, {counter}); }

extern const std::vector<const OpDef*> adam_update_ops;
const std::vector<const OpDef*> adam_update_ops{&adam_op, &increment_op};

}  // namespace plimsoll
