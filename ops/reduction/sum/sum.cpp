#include "ops/reduction/sum/sum.h"

#include "core/cpu/parallel.h"
#include "core/cuda/seam/cuda_kernel.h"
#include "core/engine/apply.h"
#include "ops/common/expect.h"
#include "ops/common/reduce_axes.h"
#include "ops/pointwise/arithmetic/arithmetic.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/shape/view/view.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(sum_cuda);
PLIMSOLL_CUDA_KERNEL(mean_cuda);
PLIMSOLL_CUDA_KERNEL(sum_integers_cuda);

namespace {

// x [outer, mid, inner] is summed over mid. A piece is a block of at most 1024 neighbouring columns
// and a chunk of rows: its totals fit the cache. Rows are cut only until there are some 256 pieces,
// so what the chunks of one column leave behind, a row of partial totals each, stays below 4 MB.
struct SumBlocks {
  static constexpr int64_t kColumns = 1024, kEnoughPieces = 256;
  int64_t outer, mid, inner;
  int64_t blocks, width;  // of columns
  int64_t chunks, chunk;  // of rows

  explicit SumBlocks(const MiddleAxis& a) : outer(a.outer), mid(a.mid), inner(a.inner) {
    blocks = std::max<int64_t>(1, pieces(inner, kColumns));
    width = pieces(inner, blocks);
    const int64_t wanted = pieces(kEnoughPieces, std::max<int64_t>(1, outer * blocks));
    chunk = std::max(grain_for(width), pieces(mid, wanted));
    chunks = std::max<int64_t>(1, pieces(mid, chunk));
  }
};

// Sum of one contiguous run, in blocks.
template <class T>
double sum_run(const T* x, int64_t n) {
  double total = 0;
  for (int64_t begin = 0; begin < n; begin += 1024) {
    const int64_t end = std::min(n, begin + 1024);
    Compute<T> block = 0;
#pragma omp simd reduction(+ : block)
    for (int64_t i = begin; i < end; ++i) block += static_cast<Compute<T>>(x[i]);
    total += block;
  }
  return total;
}

// Sums of `n` neighbouring columns over `rows` rows, which lie `step` elements apart.
template <class T>
void sum_columns(const T* x, int64_t rows, int64_t step, int64_t n, double* total) {
  std::fill_n(total, n, 0.0);
  for (int64_t row = 0; row < rows; ++row) {
    const T* from = x + row * step;
#pragma omp simd
    for (int64_t i = 0; i < n; ++i)
      total[i] += static_cast<double>(static_cast<Compute<T>>(from[i]));
  }
}

// y [outer, inner]: the sums over `divisor`. partial [outer, chunks, inner] is used where there are
// several chunks.
template <class T>
void sum_typed(const SumBlocks& cut, const T* x, T* y, double* partial, double divisor) {
  const auto finished = [=](double total) {
    return static_cast<T>(static_cast<Compute<T>>(total / divisor));
  };
  const int64_t grain = grain_for(std::min(cut.chunk, cut.mid) * cut.width);
  if (cut.inner == 1 && cut.chunks == 1)  // rows, perhaps short ones: no detours
    return parallel_for(cut.outer, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) y[i] = finished(sum_run(x + i * cut.mid, cut.mid));
    });
  parallel_for(cut.outer * cut.chunks * cut.blocks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t column = piece % cut.blocks * cut.width;
      const int64_t n = std::min(cut.width, cut.inner - column);
      const int64_t line = piece / cut.blocks;  // of partial
      const int64_t row = line % cut.chunks * cut.chunk;
      const int64_t rows = std::min(cut.chunk, cut.mid - row);
      const T* from = x + (line / cut.chunks * cut.mid + row) * cut.inner + column;
      double total[SumBlocks::kColumns];
      if (cut.inner == 1)
        total[0] = sum_run(from, rows);
      else
        sum_columns(from, rows, cut.inner, n, total);
      const int64_t to = line * cut.inner + column;
      if (cut.chunks > 1)
        std::copy_n(total, n, partial + to);
      else
        std::transform(total, total + n, y + to, finished);
    }
  });
  if (cut.chunks == 1) return;
  parallel_for(cut.outer * cut.inner, grain_for(cut.chunks), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const double* from = partial + i / cut.inner * cut.chunks * cut.inner + i % cut.inner;
      double total = 0;
      for (int64_t c = 0; c < cut.chunks; ++c) total += from[c * cut.inner];
      y[i] = finished(total);
    }
  });
}

int64_t sum_workspace(const Call& call) {
  if (call.in[0].device() == Device::cuda) return reduce_workspace(call);
  const SumBlocks cut(middle_axis(call.in[0].shape(), call.attrs.as<ReduceAttrs>()));
  if (cut.chunks == 1) return 0;
  return cut.outer * cut.chunks * cut.inner * static_cast<int64_t>(sizeof(double));
}

enum class Over { one, count };  // what the sum is divided by: nothing, or how many it adds

template <Over over>
double divisor(const MiddleAxis& a) {
  return over == Over::count ? static_cast<double>(a.mid) : 1;
}

// The division is done before the result is rounded: f16 holds the mean of many, not their sum.
template <Over over>
void sum_cpu(const Call& call) {
  const MiddleAxis axes = middle_axis(call.in[0].shape(), call.attrs.as<ReduceAttrs>());
  visit_floating("sum", call.out[0].dtype(), [&]<class T>() {
    sum_typed(SumBlocks(axes), call.in[0].as<T>(), call.out[0].as<T>(),
              reinterpret_cast<double*>(call.workspace.data()), divisor<over>(axes));
  });
}

template <Over over>
std::vector<Tensor> sum_vjp(const Backward& b) {
  const Shape& shape = b.input_meta(0).shape;
  const auto& attrs = b.attrs<ReduceAttrs>();
  Tensor dy = b.grad();
  if (over == Over::count) dy = dy / divisor<over>(middle_axis(shape, attrs));
  return {expand(reshape(dy, reduced_shape(shape, attrs, Keep::ones)), shape)};
}

template <Over over>
constexpr OpDef sum_like(const char* name) {
  return {.name = name,
          .infer = reduce_infer,
          .cpu = sum_cpu<over>,
          .cuda = over == Over::count ? mean_cuda : sum_cuda,
          .vjp = {sum_vjp<over>},
          .workspace = sum_workspace,
          .cast = CastRule::full};
}

constexpr OpDef sum_op = sum_like<Over::one>("sum");
constexpr OpDef mean_op = sum_like<Over::count>("mean");

// Integers and bools, in i64: exact, and so in any order.
Metas integer_sum_infer(std::span<const Meta> in, const Attrs& attrs) {
  Metas out = reduce_infer(in, attrs);
  out[0].dtype = DType::i64;
  return out;
}

void integer_sum_cpu(const Call& call) {
  const MiddleAxis a = middle_axis(call.in[0].shape(), call.attrs.as<ReduceAttrs>());
  visit_any(call.in[0].dtype(), [&]<class T>() {
    if constexpr (std::is_integral_v<T>) {
      const T* x = call.in[0].as<T>();
      auto* y = call.out[0].as<int64_t>();
      for_each_piece(a, [&](int64_t outer, int64_t column, int64_t n, int64_t at) {
        const T* from = x + outer * a.mid * a.inner + column;
        if (a.inner == 1) {
          int64_t total = 0;
#pragma omp simd reduction(+ : total)
          for (int64_t m = 0; m < a.mid; ++m) total += from[m];
          y[at] = total;
          return;
        }
        std::fill_n(y + at, n, int64_t{0});
        for (int64_t m = 0; m < a.mid; ++m, from += a.inner)
          for (int64_t i = 0; i < n; ++i) y[at + i] += from[i];
      });
    }
  });
}

constexpr OpDef integer_sum_op{.name = "sum_integers",
                               .infer = integer_sum_infer,
                               .cpu = integer_sum_cpu,
                               .cuda = sum_integers_cuda,
                               .workspace = reduce_workspace};

}  // namespace

Tensor sum(const Tensor& x, const Shape& axes, Keep keep) {
  check_defined("sum", x);
  if (is_floating(x.dtype())) return reduce_axes(sum_op, x, axes, keep);
  return cast(reduce_axes_any(integer_sum_op, x, axes, keep), DType::i64);
}

Tensor mean(const Tensor& x, const Shape& axes, Keep keep) {
  return reduce_axes(mean_op, x, axes, keep);
}

Tensor sum(const Tensor& x) {
  check_defined("sum", x);
  return sum(x, all_axes(x.rank()));
}

Tensor mean(const Tensor& x) {
  check_defined("mean", x);
  return mean(x, all_axes(x.rank()));
}

Tensor sum_to(const Tensor& x, const Shape& shape) {
  check_defined("sum_to", x);
  if (x.shape() == shape) return x;
  const int shift = x.rank() - shape.rank();
  Shape axes;
  for (int axis = 0; axis < x.rank(); ++axis)
    if (axis < shift || (shape[axis - shift] == 1 && x.shape()[axis] != 1)) axes.push_back(axis);
  return reshape(sum(x, axes), shape);
}

extern const std::vector<const OpDef*> sum_ops{&sum_op, &mean_op, &integer_sum_op};

}  // namespace plimsoll
