// scatter_add: a copy of x, to which each line of src is added in order.
#include "core/cpu/copy.h"
#include "core/cuda/seam/cuda_kernel.h"
#include "core/cuda/sort.h"
#include "ops/indexing/common/ids.h"
#include "ops/indexing/gather/gather.h"
#include "ops/indexing/gather/walk.h"
#include "ops/pointwise/copy/copy.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(scatter_add_cuda);

namespace {

template <class T>
constexpr bool kAddsInPlace = std::is_same_v<T, Compute<T>>;

Metas scatter_infer(std::span<const Meta> in, const Attrs&) {
  check<DTypeError>(is_floating(in[0].dtype) && in[0].dtype == in[2].dtype,
                    "scatter_add: the tensors are not of one floating type: ", in[0], " and ",
                    in[2], ". Cast one of them.");
  check_id_dtype("scatter_add", in[1]);
  return {in[0]};
}

// Sums of 16-bit elements are kept in f32 until the last is added.
int64_t scatter_workspace(const Call& call) {
  if (call.in[0].device() == Device::cuda) return cuda::sort_bytes(count(call.in[1].shape()));
  const bool narrow = call.in[0].dtype() == DType::f16 || call.in[0].dtype() == DType::bf16;
  return narrow ? count(call.in[0].shape()) * static_cast<int64_t>(sizeof(float)) : 0;
}

// Inputs: x, ids, src, with src in the shape of ids.
void scatter_cpu(const Call& call) {
  const View &ids = call.in[1], &out = call.out[0];
  const int axis = call.attrs.as<AxisAttrs>().axis;
  check_ids("scatter_add", ids, out.shape()[axis]);
  copy_strided(call.in[0], out);
  visit_floating("scatter_add", out.dtype(), [&]<class T>() {
    using C = Compute<T>;
    const int64_t n = count(out.shape());
    const T* src = call.in[2].as<T>();
    T* y = out.as<T>();
    C* total;
    if constexpr (kAddsInPlace<T>)
      total = y;
    else
      total = reinterpret_cast<C*>(call.workspace.data());
    if constexpr (!kAddsInPlace<T>)
      parallel_for(n, grain_for(1), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) total[i] = static_cast<C>(y[i]);
      });
    if (count(ids.shape()) > 0)
      visit_ids(ids, [&](const auto* id) {
        for_each_block(ids.shape(), out.shape(), axis, [&](const Block& b) {
          for (int64_t k = 0; k < b.length; ++k)
            for (int64_t i = 0; i < b.width; ++i) {
              const int64_t at = b.ids + k * b.ids_step + i;
              total[b.x + id[at] * b.x_step + i] += static_cast<C>(src[at]);
            }
        });
      });
    if constexpr (!kAddsInPlace<T>)
      parallel_for(n, grain_for(1), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) y[i] = static_cast<T>(total[i]);
      });
  });
}

std::vector<Tensor> scatter_vjp(const Backward& b) {
  return {b.needs(0) ? b.grad() : Tensor(), Tensor(),
          b.needs(2) ? gather(b.grad(), b.attrs<AxisAttrs>().axis, b.input(1)) : Tensor()};
}

}  // namespace

extern const OpDef scatter_add_op;
constexpr OpDef scatter_add_op{.name = "scatter_add",
                               .infer = scatter_infer,
                               .cpu = scatter_cpu,
                               .cuda = scatter_add_cuda,
                               .vjp = {.rule = scatter_vjp, .inputs = bits(1)},
                               .strided = bits(0),
                               .workspace = scatter_workspace,
                               .cast = CastRule::widest};

}  // namespace plimsoll
