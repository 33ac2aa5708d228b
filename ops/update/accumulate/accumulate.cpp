#include "ops/update/accumulate/accumulate.h"

#include "core/cuda/seam/cuda_kernel.h"
#include "ops/common/expect.h"
#include "ops/common/update.h"
#include "ops/common/weighted_sum.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(accumulate_cuda);

namespace {

constexpr const char* kName = "accumulate";

// Inputs: total, x, weight, weights.
Metas infer(std::span<const Meta> in, const Attrs&) {
  check_floating(kName, in[1]);
  check_state(kName, "total", in[1], in[0]);
  for (const Meta& scalar : in.subspan(2))
    check<DTypeError>(scalar == Meta{{}, DType::f64, in[0].device}, kName,
                      ": a weight is no scalar of f64: got ", scalar,
                      ". Use full({}, value, {.dtype = DType::f64}).");
  return {};
}

template <class T>
void accumulate_typed(const Call& call) {
  using C = Compute<T>;
  const auto [first, last] = call.attrs.as<Accumulate>();
  const double weight = *call.in[2].as<double>();
  const double all = (first ? 0 : *call.in[3].as<double>()) + weight;
  const WeightedSum<C> sum{.weight = static_cast<C>(weight),
                           .divisor = static_cast<C>(last && all != 0 ? all : 1),
                           .adds = !first,
                           .counts = weight != 0};
  const T* x = call.in[1].as<T>();
  C* total = call.in[0].as<C>();
  parallel_for(count(call.in[0].shape()), grain_for(1),
               [=](int64_t begin, int64_t end) { sum.add(total, x, begin, end); });
}

void cpu(const Call& call) {
  visit_floating(kName, call.in[1].dtype(), [&]<class T>() { accumulate_typed<T>(call); });
}

constexpr OpDef accumulate_op{.name = kName,
                              .infer = infer,
                              .cpu = cpu,
                              .cuda = accumulate_cuda,
                              .mutates = bits(0),
                              .widens = bits(1)};

}  // namespace

void accumulate(const Tensor& total, const Tensor& x, const Tensor& weight, const Tensor& weights,
                const Accumulate& options) {
  apply(accumulate_op, {total, contiguous(x), weight, weights}, options);
}

extern const std::vector<const OpDef*> accumulate_ops{&accumulate_op};

}  // namespace plimsoll
