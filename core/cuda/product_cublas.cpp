// Matrix products by cuBLASLt: ours, in rows, as it wants them, in columns.
#include <bit>
#include <optional>
#include <vector>

#include "core/cuda/libraries.h"
#include "core/cuda/plans_cublas.h"

namespace plimsoll::cuda {
namespace {

using Matrix = CublasMatrix;

std::optional<cudaDataType_t> type_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return CUDA_R_64F;
    case DType::f32:
      return CUDA_R_32F;
    case DType::f16:
      return CUDA_R_16F;
    case DType::bf16:
      return CUDA_R_16BF;
    default:
      return std::nullopt;
  }
}

// At most what the widest loads need: more would make the algorithm, and with it the bits, depend on
// where in an arena an operand happens to lie.
int alignment_of(const void* data) {
  return 1 << std::countr_zero(reinterpret_cast<uintptr_t>(data) | 16);
}

// The transpose of an operand of `rows` x `columns`: rows of ours are columns of theirs. Nothing
// where neither its rows nor its columns are dense.
std::optional<Matrix> transposed(const Matrices& x, int64_t rows, int64_t columns,
                                 int64_t batch_step) {
  const cudaDataType_t type = *type_of(x.dtype);
  const int alignment = alignment_of(x.data);
  if ((x.column == 1 || columns == 1) && (x.row >= columns || rows == 1))
    return Matrix{type, columns, rows, std::max(x.row, columns), batch_step, false, alignment};
  if ((x.row == 1 || rows == 1) && (x.column >= rows || columns == 1))
    return Matrix{type, rows, columns, std::max(x.column, rows), batch_step, true, alignment};
  return std::nullopt;
}

// The batch of a product as axes that a and b step along together, the innermost last.
struct BatchAxis {
  int64_t size, a, b;
};
std::vector<BatchAxis> axes_of(const Product& p) {
  std::vector<BatchAxis> axes;
  for (int axis = 0; axis < p.batch.rank(); ++axis) {
    const BatchAxis next{p.batch[axis], p.a.batch[axis], p.b.batch[axis]};
    if (next.size == 1) continue;
    if (!axes.empty() && axes.back().a == next.a * next.size && axes.back().b == next.b * next.size)
      axes.back() = {axes.back().size * next.size, next.a, next.b};
    else
      axes.push_back(next);
  }
  return axes;
}

// cuBLAS wants its workspace on a boundary of 256 bytes. Its size may not depend on where it lies:
// that would change the algorithm.
std::span<std::byte> aligned(std::span<std::byte> workspace) {
  constexpr size_t kBoundary = 256;
  if (workspace.size() < kBoundary) return {};
  const size_t past = reinterpret_cast<uintptr_t>(workspace.data()) % kBoundary;
  return workspace.subspan((kBoundary - past) % kBoundary, workspace.size() - kBoundary);
}

void* at(const Matrices& x, int64_t offset) {
  return static_cast<std::byte*>(x.data) + offset * size_of(x.dtype);
}

// Whether an epilogue is given what its kind takes, and nothing else: bias and sums are one pointer
// of cuBLAS'.
bool is_complete(const Product& p, const Epilogue& e) {
  switch (e.kind) {
    case Epilogue::Kind::none:
      return !e.before && !e.sums;
    case Epilogue::Kind::gelu_tanh:
      return !e.sums;
    case Epilogue::Kind::gelu_tanh_grad:
      return e.before && !p.bias;
    case Epilogue::Kind::row_sums:
      return e.sums && !e.before && !p.bias;
  }
  return false;
}

// Whether cuBLAS may be asked for it: gelu_tanh at the precision of what it is rounded to, and
// `before` with the leading dimension that it demands: rows that begin on boundaries of 16 bytes.
bool is_offered(const Product& p, const Epilogue& e) {
  if (!is_complete(p, e)) return false;
  if (e.kind == Epilogue::Kind::none) return true;
  const DType dtype = p.c.dtype;
  const auto fits = [&](const View* view) { return !view || view->dtype() == dtype; };
  return (dtype == DType::f16 || dtype == DType::bf16) && !p.accumulate && count(p.batch) == 1 &&
         fits(e.before) && fits(e.sums) &&
         (!e.before || (p.n % 8 == 0 && alignment_of(e.before->data) >= 16));
}

}  // namespace

bool product_by_library(const Product& p, std::span<std::byte> workspace) {
  return product_with_epilogue(p, {}, workspace);
}

std::string product_library() {
  const CublasLt* const lt = libraries_forbidden() ? nullptr : cublas();
  return lt ? cat("cuBLAS ", version_of(*lt)) : "";
}

bool product_with_epilogue(const Product& p, const Epilogue& epilogue,
                           std::span<std::byte> workspace) {
  if (p.a.dtype != p.b.dtype || p.m * p.n * p.k == 0) return false;
  // Its epilogue takes a bias like the result, and none in f64.
  if (p.bias && (p.bias->dtype() != p.c.dtype || p.c.dtype == DType::f64)) return false;
  if (!is_offered(p, epilogue)) return false;
  const CublasLt* const lt = libraries_forbidden() ? nullptr : cublas();
  if (!lt) return false;
  const std::span<std::byte> scratch = aligned(workspace);
  const View* const row_view = p.bias ? p.bias : epilogue.sums;
  const void* const row = row_view ? row_view->data : nullptr;
  const void* const before = epilogue.before ? epilogue.before->data : nullptr;
  std::vector<BatchAxis> outer = axes_of(p);
  BatchAxis inner{1, 0, 0};
  if (!outer.empty()) {
    inner = outer.back();
    outer.pop_back();
  }
  if (inner.size > 65535) return false;
  int64_t runs = 1;
  for (const BatchAxis& axis : outer) runs *= axis.size;
  for (int64_t run = 0; run < runs; ++run) {
    Product part = p;
    int64_t rest = run, a = 0, b = 0;
    for (size_t axis = outer.size(); axis-- > 0; rest /= outer[axis].size) {
      a += rest % outer[axis].size * outer[axis].a;
      b += rest % outer[axis].size * outer[axis].b;
    }
    part.a.data = at(p.a, a);
    part.b.data = at(p.b, b);
    part.c.data = at(p.c, run * inner.size * p.m * p.n);
    // c' = b' a': what lies in rows is theirs in columns.
    const auto left = transposed(part.b, p.k, p.n, inner.b);
    const auto right = transposed(part.a, p.m, p.k, inner.a);
    if (!left || !right) return false;
    const Matrix result{*type_of(p.c.dtype),      p.n, p.m, p.n, p.m * p.n, false,
                        alignment_of(part.c.data)};
    const CublasKey key{.a = *left,
                        .b = *right,
                        .c = result,
                        .batch = inner.size,
                        .row = row ? alignment_of(row) : 0,
                        .workspace = scratch.size(),
                        .accumulate = p.accumulate,
                        .epilogue = epilogue.kind,
                        .before = before ? alignment_of(before) : 0};
    // Otherwise whoever asks does the whole batch again.
    if (!run_plan(*lt, key,
                  {part.b.data, part.a.data, part.c.data, row, before, p.accumulate, scratch}))
      return false;
  }
  return true;
}

}  // namespace plimsoll::cuda
