#include "ops/indexing/gather/gather.h"

#include "core/base/convert.h"
#include "core/cuda/seam/cuda_kernel.h"
#include "ops/common/expect.h"
#include "ops/indexing/common/ids.h"
#include "ops/indexing/gather/walk.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/random/full/full.h"
#include "ops/shape/view/view.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(gather_cuda);
PLIMSOLL_CUDA_KERNEL(one_hot_cuda);

namespace {

// ids must not reach beyond x along the axes that are not indexed.
void check_fits(const char* op, const Shape& ids, const Shape& x, int axis) {
  bool fits = ids.rank() == x.rank();
  for (int a = 0; fits && a < x.rank(); ++a) fits = a == axis || ids[a] <= x[a];
  check<ShapeError>(fits, op, ": the ids do not fit the tensor: ", ids, " for ", x, " along axis ",
                    axis, ". The other sizes of ids must be at most the tensor's.");
}

// --- gather

Metas gather_infer(std::span<const Meta> in, const Attrs& attrs) {
  check_id_dtype("gather", in[1]);
  check_fits("gather", in[1].shape, in[0].shape, attrs.as<AxisAttrs>().axis);
  return {{in[1].shape, in[0].dtype, in[0].device}};
}

void gather_cpu(const Call& call) {
  const View &x = call.in[0], &ids = call.in[1];
  const int axis = call.attrs.as<AxisAttrs>().axis;
  check_ids("gather", ids, x.shape()[axis]);
  visit_any(x.dtype(), [&]<class T>() {
    const T* from = x.as<T>();
    T* to = call.out[0].as<T>();
    visit_ids(ids, [&](const auto* id) {
      for_each_block(ids.shape(), x.shape(), axis, [&](const Block& b) {
        for (int64_t k = 0; k < b.length; ++k)
          for (int64_t i = 0; i < b.width; ++i) {
            const int64_t at = b.ids + k * b.ids_step + i;
            to[at] = from[b.x + id[at] * b.x_step + i];
          }
      });
    });
  });
}

std::vector<Tensor> gather_vjp(const Backward& b) {
  const Meta& x = b.input_meta(0);
  const Tensor zero = expand(zeros({}, {x.dtype, x.device}), x.shape);
  return {scatter_add(zero, b.attrs<AxisAttrs>().axis, b.input(1), b.grad()), Tensor()};
}

constexpr OpDef gather_op{.name = "gather",
                          .infer = gather_infer,
                          .cpu = gather_cpu,
                          .cuda = gather_cuda,
                          .vjp = {.rule = gather_vjp, .inputs = bits(1)}};

// --- one_hot

Metas one_hot_infer(std::span<const Meta> in, const Attrs& attrs) {
  const auto& [classes, dtype] = attrs.as<OneHotAttrs>();
  check_id_dtype("one_hot", in[0]);
  check<ValueError>(classes >= 1, "one_hot: the number of classes is not positive: ", classes,
                    ". Use the largest id plus 1, or more.");
  Shape shape = in[0].shape;
  shape.push_back(classes);
  return {{shape, dtype, in[0].device}};
}

void one_hot_cpu(const Call& call) {
  const auto& [classes, dtype] = call.attrs.as<OneHotAttrs>();
  const View& ids = call.in[0];
  check_ids("one_hot", ids, classes);
  visit_any(dtype, [&, n = classes]<class T>() {
    T* y = call.out[0].as<T>();
    visit_ids(ids, [&](const auto* id) {
      parallel_for(count(ids.shape()), grain_for(n), [&](int64_t begin, int64_t end) {
        std::fill_n(y + begin * n, (end - begin) * n, convert<T>(0.0f));
        for (int64_t i = begin; i < end; ++i) y[i * n + id[i]] = convert<T>(1.0f);
      });
    });
  });
}

constexpr OpDef one_hot_op{
    .name = "one_hot", .infer = one_hot_infer, .cpu = one_hot_cpu, .cuda = one_hot_cuda};

}  // namespace

extern const OpDef scatter_add_op, index_select_op, index_select_grad_op;

Tensor gather(const Tensor& x, int64_t axis, const Tensor& ids) {
  check_defined("gather", x);
  return apply1(gather_op, {contiguous(x), contiguous(ids)},
                AxisAttrs{normal_axis("gather", axis, x.rank())});
}

Tensor scatter_add(const Tensor& x, int64_t axis, const Tensor& ids, const Tensor& src) {
  check_defined("scatter_add", x);
  check_defined("scatter_add", ids);
  check_defined("scatter_add", src);
  const int own = normal_axis("scatter_add", axis, x.rank());
  check_fits("scatter_add", ids.shape(), x.shape(), own);
  bool covered = ids.rank() == src.rank();
  for (int a = 0; covered && a < ids.rank(); ++a) covered = ids.size(a) <= src.size(a);
  check<ShapeError>(covered, "scatter_add: the ids do not fit src: ", ids.shape(), " for ",
                    src.shape(), ". Their sizes must be at most those of src.");
  check<ShapeError>(x.size(own) > 0 || ids.count() == 0, "scatter_add: no id is in range: ids ",
                    ids.shape(), " for axis ", own, " of ", x.shape(),
                    ", which is empty. Leave the ids empty too.");
  Tensor used = src;
  for (int a = 0; a < ids.rank(); ++a)
    if (used.size(a) != ids.size(a)) used = slice(used, a, 0, ids.size(a));
  return apply1(scatter_add_op, {x, contiguous(ids), contiguous(used)}, AxisAttrs{own});
}

Tensor one_hot(const Tensor& ids, int64_t classes, DType dtype) {
  return apply1(one_hot_op, {contiguous(ids)}, OneHotAttrs{classes, dtype});
}

extern const std::vector<const OpDef*> gather_ops{&gather_op, &scatter_add_op, &one_hot_op,
                                                  &index_select_op, &index_select_grad_op};

}  // namespace plimsoll
