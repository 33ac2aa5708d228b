#include "ops/sum/sum.h"

#include "core/apply.h"
#include "core/cpu/parallel.h"
#include "ops/arithmetic/arithmetic.h"
#include "ops/copy/copy.h"
#include "ops/reduce_axes.h"
#include "ops/view/view.h"

namespace plimsoll {
namespace {

// The kernel sums x [outer, mid, inner] over mid. mid is cut into chunks of about 16,000 elements;
// each leaves one partial row, and the partial rows of one outer index are added in order.
struct Cut {
  int64_t outer, mid, inner, chunk, chunks;
  explicit Cut(const MiddleAxis& a)
      : outer(a.outer),
        mid(a.mid),
        inner(a.inner),
        chunk(grain_for(a.inner)),
        chunks(pieces(a.mid, chunk)) {}
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

// Adds `rows` rows of `inner` elements into partial[inner].
template <class T>
void sum_rows(const T* x, int64_t rows, int64_t inner, double* partial) {
  std::fill_n(partial, inner, 0.0);
  for (int64_t row = 0; row < rows; ++row) {
#pragma omp simd
    for (int64_t i = 0; i < inner; ++i)
      partial[i] += static_cast<double>(static_cast<Compute<T>>(x[row * inner + i]));
  }
}

template <class T>
void sum_typed(const Cut& cut, const T* x, T* y, double* partial) {
  parallel_for(cut.outer * cut.chunks, grain_for(cut.chunk * cut.inner),
               [&](int64_t begin, int64_t end) {
                 for (int64_t piece = begin; piece < end; ++piece) {
                   const int64_t first = piece % cut.chunks * cut.chunk;
                   const int64_t rows = std::min(cut.chunk, cut.mid - first);
                   const T* from = x + (piece / cut.chunks * cut.mid + first) * cut.inner;
                   if (cut.inner == 1)
                     partial[piece] = sum_run(from, rows);
                   else
                     sum_rows(from, rows, cut.inner, partial + piece * cut.inner);
                 }
               });
  parallel_for(cut.outer * cut.inner, grain_for(cut.chunks), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const double* from = partial + i / cut.inner * cut.chunks * cut.inner + i % cut.inner;
      double total = 0;
      for (int64_t c = 0; c < cut.chunks; ++c) total += from[c * cut.inner];
      y[i] = static_cast<T>(static_cast<Compute<T>>(total));
    }
  });
}

int64_t sum_workspace(std::span<const Meta> in, std::span<const Meta>, const Attrs& attrs) {
  const Cut cut(middle_axis(in[0].shape, attrs.as<ReduceAttrs>()));
  return cut.outer * cut.chunks * cut.inner * static_cast<int64_t>(sizeof(double));
}

void sum_cpu(const Call& call) {
  const Cut cut(middle_axis(call.in[0].shape(), call.attrs.as<ReduceAttrs>()));
  visit_floating("sum", call.out[0].dtype(), [&]<class T>() {
    sum_typed(cut, call.in[0].as<T>(), call.out[0].as<T>(),
              reinterpret_cast<double*>(call.workspace.data()));
  });
}

std::vector<Tensor> sum_vjp(const Backward& b) {
  const Shape& shape = b.input_meta(0).shape;
  return {
      expand(reshape(b.grad(), reduced_shape(shape, b.attrs<ReduceAttrs>(), Keep::ones)), shape)};
}

constexpr OpDef sum_op{.name = "sum",
                       .infer = reduce_infer,
                       .cpu = sum_cpu,
                       .vjp = sum_vjp,
                       .workspace = sum_workspace};

}  // namespace

Tensor sum(const Tensor& x, const Shape& axes, Keep keep) {
  return reduce_axes(sum_op, x, axes, keep);
}

Tensor mean(const Tensor& x, const Shape& axes, Keep keep) {
  const Tensor total = sum(x, axes, keep);
  const int64_t results = std::max<int64_t>(1, total.count());
  return total / (static_cast<double>(x.count()) / static_cast<double>(results));
}

Tensor sum(const Tensor& x) { return sum(x, all_axes(x.rank())); }
Tensor mean(const Tensor& x) { return sum(x) / static_cast<double>(x.count()); }

Tensor sum_to(const Tensor& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  const int shift = x.rank() - shape.rank();
  Shape axes;
  for (int axis = 0; axis < x.rank(); ++axis)
    if (axis < shift || (shape[axis - shift] == 1 && x.shape()[axis] != 1)) axes.push_back(axis);
  return reshape(sum(x, axes), shape);
}

extern const std::vector<const OpDef*> sum_ops;
const std::vector<const OpDef*> sum_ops{&sum_op};

}  // namespace plimsoll
