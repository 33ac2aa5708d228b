#include "ops/shape/concat/concat.h"

#include "core/cpu/copy.h"
#include "core/cuda/seam/cuda.h"
#include "core/engine/apply.h"
#include "ops/common/expect.h"
#include "ops/shape/view/view.h"

namespace plimsoll {

namespace {

struct ConcatAttrs {
  int axis;
  bool operator==(const ConcatAttrs&) const = default;
};

Metas concat_infer(std::span<const Meta> in, const Attrs& attrs) {
  const int axis = attrs.as<ConcatAttrs>().axis;
  Meta out = in[0];
  for (size_t i = 1; i < in.size(); ++i) {
    check<DTypeError>(in[i].dtype == out.dtype, "concat: the types differ: tensor 0 is ", out.dtype,
                      ", tensor ", i, " is ", in[i].dtype, ". Cast one of them.");
    bool fits = in[i].shape.rank() == out.shape.rank();
    for (int a = 0; fits && a < out.shape.rank(); ++a)
      fits = a == axis || in[i].shape[a] == out.shape[a];
    check<ShapeError>(fits, "concat: the shapes do not fit along axis ", axis, ": tensor 0 is ",
                      in[0].shape, ", tensor ", i, " is ", in[i].shape,
                      ". All other sizes must be equal.");
    out.shape[axis] = checked_add(out.shape[axis], in[i].shape[axis], "concat");
  }
  return {out};
}

void join(const Call& call, void (*copy)(const View&, const View&)) {
  const int axis = call.attrs.as<ConcatAttrs>().axis;
  const View& out = call.out[0];
  const int64_t step = out.strides[axis] * size_of(out.dtype());  // bytes
  int64_t start = 0;
  for (const View& x : call.in) {
    copy(x, {out.as<std::byte>() + start * step, x.meta, out.strides});
    start += x.shape()[axis];
  }
}

void concat_cpu(const Call& call) { join(call, copy_strided); }
void concat_cuda(const Call& call) { join(call, cuda_api().copy_strided); }

std::vector<Tensor> concat_vjp(const Backward& b) {
  const int axis = b.attrs<ConcatAttrs>().axis;
  std::vector<Tensor> grads;
  int64_t start = 0;
  for (int i = 0; i < b.inputs(); ++i) {
    const int64_t stop = start + b.input_meta(i).shape[axis];
    grads.push_back(b.needs(i) ? slice(b.grad(), axis, start, stop) : Tensor());
    start = stop;
  }
  return grads;
}

constexpr OpDef concat_op{.name = "concat",
                          .infer = concat_infer,
                          .cpu = concat_cpu,
                          .cuda = concat_cuda,
                          .vjp = {concat_vjp},
                          .strided = everything,
                          .cast = CastRule::widest};

}  // namespace

Tensor concat(std::span<const Tensor> tensors, int64_t axis) {
  check<ShapeError>(!tensors.empty(),
                    "concat: there is no tensor to join: 0 were given. Pass at least one.");
  for (const Tensor& x : tensors) check_defined("concat", x);
  const int own = normal_axis("concat", axis, tensors[0].rank());
  return std::move(apply(concat_op, tensors, ConcatAttrs{own}).front());
}

extern const std::vector<const OpDef*> concat_ops{&concat_op};

}  // namespace plimsoll
