#include "ops/reduction/cumsum/cumsum.h"

#include "core/cpu/parallel.h"
#include "core/cuda/seam/cuda_kernel.h"
#include "core/engine/apply.h"
#include "ops/common/expect.h"
#include "ops/common/reduce_axes.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/reduction/cumsum/attrs.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(cumsum_cuda);

namespace {

constexpr int64_t kColumns = 64;  // running sums that one thread holds at a time

Metas cumsum_infer(std::span<const Meta> in, const Attrs&) {
  Metas out{in[0]};
  if (!is_floating(in[0].dtype)) out[0].dtype = DType::i64;
  return out;
}

// n <= kColumns neighbouring columns, `size` rows that are `step` apart, backwards where step < 0.
template <class T, class Y>
void run(const T* x, Y* y, int64_t size, int64_t step, int64_t n, bool exclusive) {
  using Sum = std::conditional_t<std::is_same_v<Y, int64_t>, int64_t, double>;
  const auto widen = [](T v) {
    if constexpr (std::is_same_v<Sum, double>)
      return static_cast<double>(static_cast<Compute<T>>(v));
    else
      return static_cast<int64_t>(v);
  };
  const auto narrow = [](Sum v) {
    if constexpr (std::is_same_v<Sum, double>)
      return static_cast<Y>(static_cast<Compute<Y>>(v));
    else
      return v;
  };
  Sum sums[kColumns] = {};
  for (int64_t row = 0; row < size; ++row, x += step, y += step) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
      const Sum before = sums[i], after = before + widen(x[i]);
      sums[i] = after;
      y[i] = narrow(exclusive ? before : after);
    }
  }
}

// x and y as [outer, mid, inner], summed along mid: pieces of columns of [mid, inner].
void cumsum_cpu(const Call& call) {
  const auto& attrs = call.attrs.as<CumsumAttrs>();
  const MiddleAxis a = middle_axis(call.in[0].shape(), attrs.axis);
  const int64_t first = attrs.reverse ? (a.mid - 1) * a.inner : 0;
  const int64_t step = attrs.reverse ? -a.inner : a.inner;
  const int64_t grain = std::max(grain_for(a.mid), std::min(a.inner, kColumns));
  visit_any(call.in[0].dtype(), [&]<class T>() {
    using Y = std::conditional_t<std::is_integral_v<T>, int64_t, T>;
    const T* x = call.in[0].as<T>();
    Y* y = call.out[0].as<Y>();
    parallel_for(a.outer * a.inner, grain, [&](int64_t begin, int64_t end) {
      while (begin < end) {
        const int64_t column = begin % a.inner;
        const int64_t n = std::min({end - begin, a.inner - column, kColumns});
        const int64_t at = begin / a.inner * a.mid * a.inner + column + first;
        if (n == 1)  // known to the compiler, the loop over columns goes
          run(x + at, y + at, a.mid, step, 1, attrs.exclusive);
        else
          run(x + at, y + at, a.mid, step, n, attrs.exclusive);
        begin += n;
      }
    });
  });
}

std::vector<Tensor> cumsum_vjp(const Backward& b) {
  const auto& attrs = b.attrs<CumsumAttrs>();
  return {cumsum(b.grad(), attrs.axis, {attrs.exclusive, !attrs.reverse})};
}

constexpr OpDef cumsum_op{.name = "cumsum",
                          .infer = cumsum_infer,
                          .cpu = cumsum_cpu,
                          .cuda = cumsum_cuda,
                          .vjp = {cumsum_vjp},
                          .inplace = 0,
                          .cast = CastRule::full};

}  // namespace

Tensor cumsum(const Tensor& x, int64_t axis, const CumsumOptions& options) {
  check_defined("cumsum", x);
  const int along = normal_axis("cumsum", axis, x.rank());
  return apply1(cumsum_op, {contiguous(x)}, CumsumAttrs{along, options.exclusive, options.reverse});
}

extern const std::vector<const OpDef*> cumsum_ops{&cumsum_op};

}  // namespace plimsoll
