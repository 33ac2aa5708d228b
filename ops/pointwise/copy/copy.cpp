#include "ops/pointwise/copy/copy.h"

#include "core/base/convert.h"
#include "core/cpu/copy.h"
#include "core/cpu/parallel.h"
#include "core/cuda/seam/cuda_kernel.h"
#include "core/engine/apply.h"
#include "ops/common/expect.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(copy_cuda);
PLIMSOLL_CUDA_KERNEL(cast_cuda);

namespace {

void copy_cpu(const Call& call) { copy_strided(call.in[0], call.out[0]); }

std::vector<Tensor> copy_vjp(const Backward& b) { return {b.grad()}; }

constexpr OpDef copy_op{.name = "copy",
                        .infer = same_as_input,
                        .cpu = copy_cpu,
                        .cuda = copy_cuda,
                        .vjp = {copy_vjp},
                        .strided = bits(0)};

struct CastAttrs {
  DType dtype;
  bool operator==(const CastAttrs&) const = default;
};

Metas cast_infer(std::span<const Meta> in, const Attrs& attrs) {
  return {{in[0].shape, attrs.as<CastAttrs>().dtype, in[0].device}};
}

void cast_cpu(const Call& call) {
  visit_any(call.in[0].dtype(), [&]<class From>() {
    visit_any(call.out[0].dtype(), [&]<class To>() {
      const From* x = call.in[0].as<From>();
      To* y = call.out[0].as<To>();
      parallel_for(count(call.out[0].shape()), grain_for(1), [&](int64_t begin, int64_t end) {
#pragma omp simd
        for (int64_t i = begin; i < end; ++i) y[i] = convert<To>(x[i]);
      });
    });
  });
}

std::vector<Tensor> cast_vjp(const Backward& b) {
  return {is_floating(b.input_meta(0).dtype) ? cast(b.grad(), b.input_meta(0).dtype) : Tensor()};
}

constexpr OpDef cast_op{.name = "cast",
                        .infer = cast_infer,
                        .cpu = cast_cpu,
                        .cuda = cast_cuda,
                        .vjp = {cast_vjp},
                        .casts = true};

}  // namespace

Tensor contiguous(const Tensor& x) { return !x.defined() || x.contiguous() ? x : clone(x); }

Tensor clone(const Tensor& x) {
  check_defined("clone", x);
  return apply1(copy_op, {x});
}

Tensor cast(const Tensor& x, DType dtype) {
  return x.defined() && x.dtype() == dtype ? x : apply1(cast_op, {contiguous(x)}, CastAttrs{dtype});
}

extern const std::vector<const OpDef*> copy_ops{&copy_op, &cast_op};

}  // namespace plimsoll
