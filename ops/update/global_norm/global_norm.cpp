#include "ops/update/global_norm/global_norm.h"

#include <algorithm>

#include "core/cpu/parallel.h"
#include "core/cuda/seam/cuda_kernel.h"
#include "core/engine/apply.h"
#include "ops/common/expect.h"
#include "ops/common/update.h"
#include "ops/common/widened.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/pointwise/math/math.h"
#include "ops/reduction/sum/sum.h"
#include "ops/update/global_norm/attrs.h"
#include "ops/update/sums_of_squares/sums_of_squares.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(scale_to_norm_cuda);

namespace {

constexpr int64_t kChunk = 16384;  // elements whose squares are added before those of others

Metas scale_infer(std::span<const Meta> in, const Attrs&) {
  check_floating("scale_to_norm", in[0]);
  check_scalar("scale_to_norm", "norm", in[1]);
  return {in[0]};
}

void scale_cpu(const Call& call) {
  const double limit = call.attrs.as<ScaleAttrs>().max_norm / (read_scalar(call.in[1]) + 1e-6);
  visit_floating("scale_to_norm", call.out[0].dtype(), [&]<class T>() {
    using C = Compute<T>;
    const C scale = static_cast<C>(limit > 1 ? 1 : limit);
    T* y = call.out[0].as<T>();
    visit_widened<T>(call.in[0].dtype(), [&]<class X>() {
      const X* x = call.in[0].as<X>();
      parallel_for(count(call.out[0].shape()), grain_for(1), [&](int64_t begin, int64_t end) {
#pragma omp simd
        for (int64_t i = begin; i < end; ++i) y[i] = narrow<T>(static_cast<C>(x[i]) * scale);
      });
    });
  });
}

constexpr OpDef scale_op{.name = "scale_to_norm",
                         .infer = scale_infer,
                         .cpu = scale_cpu,
                         .cuda = scale_to_norm_cuda,
                         .inplace = 0,
                         .widens = bits(0)};

}  // namespace

Tensor global_norm(std::span<const Tensor> tensors) {
  const bool wide = std::ranges::any_of(
      tensors, [](const Tensor& tensor) { return tensor.dtype() == DType::f64; });
  return cast(sqrt(sum(sums_of_squares(tensors, kChunk))), wide ? DType::f64 : DType::f32);
}

Tensor scale_to_norm(const Tensor& x, const Tensor& norm, double max_norm) {
  check<ValueError>(max_norm > 0, "scale_to_norm: the maximum must be positive: ", max_norm,
                    ". Use a number above 0.");
  return apply1(scale_op, {contiguous(x), norm}, ScaleAttrs{max_norm});
}

extern const std::vector<const OpDef*> global_norm_ops{&scale_op};

}  // namespace plimsoll
