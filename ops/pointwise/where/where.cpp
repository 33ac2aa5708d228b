#include "ops/pointwise/where/where.h"

#include "core/cuda/seam/cuda_kernel.h"
#include "core/engine/apply.h"
#include "ops/common/broadcast.h"
#include "ops/common/expect.h"
#include "ops/random/full/full.h"
#include "ops/reduction/sum/sum.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(where_cuda);

namespace {

Metas where_infer(std::span<const Meta> in, const Attrs&) {
  check<DTypeError>(in[0].dtype == DType::boolean,
                    "where: the condition is not of type bool: ", in[0], ". Compare it first.");
  check_same_type("where", in.subspan(1));
  const Shape shape = broadcast("where", in[0].shape, broadcast("where", in[1].shape, in[2].shape));
  return {{shape, in[1].dtype, in[1].device}};
}

// Bits are moved, whatever they mean: the size of an element is all that matters.
template <class T>
void select(const Call& call) {
  map_triples<bool, T, T, T>(call, [](bool condition, T a, T b) { return condition ? a : b; });
}

void where_cpu(const Call& call) {
  visit_width(size_of(call.out[0].dtype()), [&]<class T>() { select<T>(call); });
}

std::vector<Tensor> where_vjp(const Backward& b) {
  const Tensor zero = zeros({}, {b.grad().dtype(), b.grad().device()});
  const auto to = [&](int i, const auto& chosen) {
    return b.needs(i) ? sum_to(chosen(), b.input_meta(i).shape) : Tensor();
  };
  return {Tensor(), to(1, [&] { return where(b.input(0), b.grad(), zero); }),
          to(2, [&] { return where(b.input(0), zero, b.grad()); })};
}

constexpr OpDef where_op{.name = "where",
                         .infer = where_infer,
                         .cpu = where_cpu,
                         .cuda = where_cuda,
                         .vjp = {.rule = where_vjp, .inputs = bits(0)},
                         .inplace = 2,
                         .strided = everything,
                         .cast = CastRule::widest};

}  // namespace

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  return apply1(where_op, {condition, a, b});
}

Tensor masked_fill(const Tensor& x, const Tensor& mask, double value) {
  check_defined("masked_fill", x);
  check_defined("masked_fill", mask);
  check<DTypeError>(mask.dtype() == DType::boolean,
                    "masked_fill: the mask is not of type bool: ", mask.meta(),
                    ". Compare it first.");
  check<ShapeError>(broadcast("masked_fill", x.shape(), mask.shape()) == x.shape(),
                    "masked_fill: the mask is larger than the tensor: ", mask.shape(), " for ",
                    x.shape(), ". Expand the tensor first.");
  return where(mask, full({}, value, {x.dtype(), x.device()}), x);
}

extern const std::vector<const OpDef*> where_ops{&where_op};

}  // namespace plimsoll
