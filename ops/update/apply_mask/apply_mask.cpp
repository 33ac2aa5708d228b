#include "ops/update/apply_mask/apply_mask.h"

#include "core/cpu/parallel.h"
#include "core/cuda/seam/cuda_kernel.h"
#include "core/engine/apply.h"
#include "ops/pointwise/copy/copy.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(apply_mask_cuda);

namespace {

// Inputs: x, mask.
Metas infer(std::span<const Meta> in, const Attrs&) {
  check<DTypeError>(in[1].dtype == DType::boolean,
                    "apply_mask: the mask is not of type bool: ", in[1], ". Compare it first.");
  check<ShapeError>(in[0].shape == in[1].shape, "apply_mask: the mask has another shape: ", in[0],
                    " and ", in[1], ". Give one value for each element.");
  return {};
}

// The bits of +0 are zeros in every type: the size of an element is all that matters.
template <class Word>
void mask_words(const Call& call) {
  Word* x = call.in[0].as<Word>();
  const bool* mask = call.in[1].as<bool>();
  parallel_for(count(call.in[0].shape()), grain_for(1), [=](int64_t begin, int64_t end) {
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) x[i] = mask[i] ? x[i] : Word{0};
  });
}

void cpu(const Call& call) {
  visit_width(size_of(call.in[0].dtype()), [&]<class Word>() { mask_words<Word>(call); });
}

constexpr OpDef apply_mask_op{
    .name = "apply_mask", .infer = infer, .cpu = cpu, .cuda = apply_mask_cuda, .mutates = bits(0)};

}  // namespace

void apply_mask(const Tensor& x, const Tensor& mask) {
  apply(apply_mask_op, {x, contiguous(mask)});
}

extern const std::vector<const OpDef*> apply_mask_ops{&apply_mask_op};

}  // namespace plimsoll
