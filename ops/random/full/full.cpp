#include "ops/random/full/full.h"

#include "core/base/convert.h"
#include "core/cpu/parallel.h"
#include "core/cuda/seam/cuda_kernel.h"
#include "core/engine/apply.h"
#include "ops/random/full/attrs.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(full_cuda);

namespace {

Metas full_infer(std::span<const Meta>, const Attrs& attrs) {
  const Meta& meta = attrs.as<FullAttrs>().meta;
  bytes_of(meta);  // refuses sizes that are negative or overflow
  return {meta};
}

void full_cpu(const Call& call) {
  const double value = call.attrs.as<FullAttrs>().value;
  visit_any(call.out[0].dtype(), [&]<class T>() {
    const T element = convert<T>(value);
    T* y = call.out[0].as<T>();
    parallel_for(count(call.out[0].shape()), grain_for(1),
                 [&](int64_t begin, int64_t end) { std::fill(y + begin, y + end, element); });
  });
}

constexpr OpDef full_op{.name = "full", .infer = full_infer, .cpu = full_cpu, .cuda = full_cuda};

}  // namespace

Tensor full(const Shape& shape, double value, Placement placement) {
  return apply1(full_op, {}, FullAttrs{{shape, placement.dtype, placement.device}, value});
}

Tensor zeros(const Shape& shape, Placement placement) { return full(shape, 0, placement); }
Tensor ones(const Shape& shape, Placement placement) { return full(shape, 1, placement); }

extern const std::vector<const OpDef*> full_ops{&full_op};

}  // namespace plimsoll
