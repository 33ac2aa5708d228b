#include "ops/indexing/top_k/top_k.h"

#include <numeric>

#include "core/cpu/slots.h"
#include "core/cuda/seam/cuda_kernel.h"
#include "core/engine/apply.h"
#include "ops/common/broadcast.h"
#include "ops/common/expect.h"
#include "ops/common/reduce_axes.h"
#include "ops/indexing/gather/gather.h"
#include "ops/indexing/top_k/attrs.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/random/full/full.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(top_k_cuda);

namespace {

MiddleAxis sizes_of(const Shape& x, const Attrs& attrs) {
  return middle_axis(x, attrs.as<TopKAttrs>().axis);
}

// Inputs: x. Outputs: values and indices, of size k along the axis.
Metas top_k_infer(std::span<const Meta> in, const Attrs& attrs) {
  const auto& [k, axis, order] = attrs.as<TopKAttrs>();
  check<DTypeError>(in[0].dtype != DType::boolean, "top_k: a number type is needed: got ", in[0],
                    ". Cast it first.");
  check<ShapeError>(k >= 0 && k <= in[0].shape[axis], "top_k: ", k, " elements of axis ", axis,
                    " are asked for: ", in[0].shape, ". Use a k from 0 to its size.");
  Metas out{in[0], in[0]};
  out[0].shape[axis] = out[1].shape[axis] = k;
  out[1].dtype = DType::i64;
  return out;
}

// Columns of one work item.
int64_t columns_per_item(const MiddleAxis& a) { return grain_for(a.mid); }

int64_t top_k_workspace(const Call& call) {
  if (call.in[0].device() == Device::cuda) return 0;
  const MiddleAxis a = sizes_of(call.in[0].shape(), call.attrs);
  return slots_bytes(pieces(a.outer * a.inner, columns_per_item(a)),
                     a.mid * static_cast<int64_t>(sizeof(int64_t)));
}

// One column of x, its elements `step` apart; `order_of` has room for all their numbers.
template <class T>
void column_top_k(const T* x, int64_t n, int64_t step, const TopKAttrs& attrs, int64_t* order_of,
                  T* values, int64_t* indices) {
  using C = Computed<T>;
  const auto at = [&](int64_t i) { return static_cast<C>(x[i * step]); };
  const auto before = [&](int64_t i, int64_t j) {
    return comes_before<C>(attrs.order, at(i), i, at(j), j);
  };
  std::iota(order_of, order_of + n, int64_t{0});
  std::partial_sort(order_of, order_of + attrs.k, order_of + n, before);
  for (int64_t i = 0; i < attrs.k; ++i) {
    values[i * step] = x[order_of[i] * step];
    indices[i * step] = order_of[i];
  }
}

void top_k_cpu(const Call& call) {
  const auto& attrs = call.attrs.as<TopKAttrs>();
  const MiddleAxis a = sizes_of(call.in[0].shape(), call.attrs);
  const int64_t columns = a.outer * a.inner, n = columns_per_item(a);
  visit_any(call.in[0].dtype(), [&]<class T>() {
    const T* x = call.in[0].as<T>();
    T* values = call.out[0].as<T>();
    int64_t* indices = call.out[1].as<int64_t>();
    const int64_t bytes = a.mid * static_cast<int64_t>(sizeof(int64_t));
    for_each_with_slot(
        pieces(columns, n), call.workspace, bytes, [&](int64_t item, std::byte* slot) {
          for (int64_t i = item * n; i < std::min(columns, (item + 1) * n); ++i) {
            const int64_t from = i / a.inner * a.mid * a.inner + i % a.inner;
            const int64_t to = i / a.inner * attrs.k * a.inner + i % a.inner;
            column_top_k(x + from, a.mid, a.inner, attrs, reinterpret_cast<int64_t*>(slot),
                         values + to, indices + to);
          }
        });
  });
}

std::vector<Tensor> top_k_vjp(const Backward& b) {
  if (!b.grad(0).defined()) return {Tensor()};
  const Meta& x = b.input_meta(0);
  return {scatter_add(zeros(x.shape, {x.dtype, x.device}), b.attrs<TopKAttrs>().axis, b.output(1),
                      b.grad(0))};
}

constexpr OpDef top_k_op{.name = "top_k",
                         .infer = top_k_infer,
                         .cpu = top_k_cpu,
                         .cuda = top_k_cuda,
                         .vjp = {.rule = top_k_vjp, .outputs = bits(1)},
                         .workspace = top_k_workspace};

}  // namespace

TopK top_k(const Tensor& x, int64_t k, int64_t axis, Order order) {
  check_defined("top_k", x);
  const int own = normal_axis("top_k", axis, x.rank());
  const std::vector<Tensor> results = apply(top_k_op, {contiguous(x)}, TopKAttrs{k, own, order});
  return {results[0], results[1]};
}

extern const std::vector<const OpDef*> top_k_ops{&top_k_op};

}  // namespace plimsoll
