#include "ops/collective/sum_parts/sum_parts.h"

#include "core/cpu/parallel.h"
#include "core/cpu/vector.h"
#include "core/cuda/seam/cuda_kernel.h"
#include "core/engine/apply.h"
#include "ops/collective/common/exchange.h"
#include "ops/collective/sum_parts/tree.h"
#include "ops/common/expect.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/shape/view/view.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(sum_parts_cuda);

namespace {

constexpr const char* kName = "sum_parts";
constexpr int64_t kAtOnce = 512;  // elements: the levels of the tree stay near

Metas infer(std::span<const Meta> in, const Attrs&) {
  check_floating(kName, in[0]);
  check<ShapeError>(in[0].shape.rank() > 0 && in[0].shape[0] > 0, kName,
                    ": there are no parts: ", in[0].shape, ". Give it [N, ...] with N >= 1.");
  Meta out = in[0];
  out.shape = collective::without_first_axis(in[0].shape);
  return {out};
}

// The n elements at x of `parts` parts, which lie `step` apart.
template <class T>
void add_tree(const T* x, int64_t step, int64_t parts, int64_t n, Compute<T>* sum) {
  if (parts == 1) {
    for (int64_t i = 0; i < n; ++i) sum[i] = static_cast<Compute<T>>(x[i]);
    return;
  }
  const int64_t left = sum_parts_detail::left_of(parts);
  Compute<T> right[kAtOnce];
  add_tree(x, step, left, n, sum);
  add_tree(x + left * step, step, parts - left, n, right);
  for (int64_t i = 0; i < n; ++i) sum[i] += right[i];
}

template <class T>
void sum_typed(const Call& call) {
  const int64_t parts = call.in[0].shape()[0], n = count(call.out[0].shape());
  const T* x = call.in[0].as<T>();
  T* y = call.out[0].as<T>();
  parallel_for(n, grain_for(parts), [=](int64_t begin, int64_t end) {
    Compute<T> sum[kAtOnce];
    for (int64_t i = begin; i < end; i += kAtOnce) {
      const int64_t some = std::min(kAtOnce, end - i);
      add_tree(x + i, n, parts, some, sum);
      for (int64_t j = 0; j < some; ++j) y[i + j] = narrow<T>(sum[j]);
    }
  });
}

void cpu(const Call& call) {
  visit_floating(kName, call.in[0].dtype(), [&]<class T>() { sum_typed<T>(call); });
}

std::vector<Tensor> vjp(const Backward& b) { return {expand(b.grad(), b.input_meta(0).shape)}; }

constexpr OpDef sum_parts_op{
    .name = kName, .infer = infer, .cpu = cpu, .cuda = sum_parts_cuda, .vjp = {vjp}};

}  // namespace

Tensor sum_parts(const Tensor& x) {
  check_defined(kName, x);
  if (x.rank() > 0 && x.shape()[0] == 1 && is_floating(x.dtype()))
    return reshape(x, collective::without_first_axis(x.shape()));
  return apply1(sum_parts_op, {contiguous(x)});
}

extern const std::vector<const OpDef*> sum_parts_ops{&sum_parts_op};

}  // namespace plimsoll
