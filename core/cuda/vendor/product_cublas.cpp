// Matrix products by cuBLASLt: ours, in rows, as it wants them, in columns. Descriptors and the
// algorithm of a product are made when it is first asked for and kept for the process.
#include <cublasLt.h>

#include <bit>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "core/cuda/product.h"
#include "core/cuda/runtime.h"
#include "core/cuda/vendor/libraries.h"

namespace plimsoll::cuda {
namespace {

// The functions of the library, and the one handle of the process.
struct CublasLt {
  Library library{{.name = "cuBLAS 13", .file = "libcublasLt.so.13", .package = "nvidia-cublas"}};
#define PLIMSOLL_FUNCTION(name) decltype(::name)* name = library.function<decltype(::name)>(#name)
  PLIMSOLL_FUNCTION(cublasLtGetVersion);
  PLIMSOLL_FUNCTION(cublasLtGetStatusString);
  PLIMSOLL_FUNCTION(cublasLtCreate);
  PLIMSOLL_FUNCTION(cublasLtMatmul);
  PLIMSOLL_FUNCTION(cublasLtMatmulAlgoGetHeuristic);
  PLIMSOLL_FUNCTION(cublasLtMatmulDescCreate);
  PLIMSOLL_FUNCTION(cublasLtMatmulDescDestroy);
  PLIMSOLL_FUNCTION(cublasLtMatmulDescSetAttribute);
  PLIMSOLL_FUNCTION(cublasLtMatrixLayoutCreate);
  PLIMSOLL_FUNCTION(cublasLtMatrixLayoutDestroy);
  PLIMSOLL_FUNCTION(cublasLtMatrixLayoutSetAttribute);
  PLIMSOLL_FUNCTION(cublasLtMatmulPreferenceCreate);
  PLIMSOLL_FUNCTION(cublasLtMatmulPreferenceDestroy);
  PLIMSOLL_FUNCTION(cublasLtMatmulPreferenceSetAttribute);
#undef PLIMSOLL_FUNCTION
  cublasLtHandle_t handle = nullptr;

  CublasLt() {
    check<DeviceError>(cublasLtGetVersion() / 10000 == 13, "cuda: cuBLAS 13 is needed: found ",
                       cublasLtGetVersion(), ". Install it (pip install nvidia-cublas).");
    stream();
    run(cublasLtCreate(&handle), "cublasLtCreate");
  }
  void run(cublasStatus_t status, const char* call) const {
    check<DeviceError>(status == CUBLAS_STATUS_SUCCESS, "cuda: ", call,
                       " failed: ", cublasLtGetStatusString(status),
                       ". PLIMSOLL_CUDA_LIBRARIES=none does without cuBLAS.");
  }
};

// nullptr when it cannot be had, which is said once.
const CublasLt* cublas() {
  static const std::unique_ptr<const CublasLt> opened = []() -> std::unique_ptr<const CublasLt> {
    try {
      return std::make_unique<const CublasLt>();
    } catch (const DeviceError& error) {
      report_missing(error.what());
      return nullptr;
    }
  }();
  return opened.get();
}

// As cuBLAS sees a matrix, in columns: rows x columns, `leading` apart; perhaps turned.
struct Matrix {
  cudaDataType_t type;
  int64_t rows, columns, leading, batch_step;
  bool turned;
  int alignment;  // of its address: a power of two
  auto operator<=>(const Matrix&) const = default;
};

// What an algorithm is chosen by.
struct Key {
  Matrix a, b, c;
  int64_t batch;
  int bias;  // its alignment; 0: there is none
  uint64_t workspace;
  auto operator<=>(const Key&) const = default;
};

// The operands of a call.
struct Operands {
  const void *a, *b;
  void* c;
  const void* bias;
  bool accumulate;
  std::span<std::byte> workspace;
};

template <class T>
using Owned = std::unique_ptr<T, cublasStatus_t (*)(T*)>;

// A product made ready: descriptors, and the algorithm that the heuristic prefers.
class Plan {
 public:
  Plan(const CublasLt& lt, const Key& key, const Operands& operands)
      : lt_(lt),
        key_(key),
        operation_(operation()),
        a_(layout(key.a)),
        b_(layout(key.b)),
        c_(layout(key.c)) {
    set(CUBLASLT_MATMUL_DESC_TRANSA, key.a.turned ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, key.b.turned ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE,
        key.bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT);
    set_bias(operands);
    algorithm_ = first_choice();
  }

  // The caller holds the lock under which descriptors are used. False: cuBLAS has no algorithm.
  bool run(const Operands& o) const {
    if (!algorithm_) return false;
    set_bias(o);
    const double one64 = 1, zero64 = 0;
    const float one32 = 1, zero32 = 0;
    const void* one = wide() ? static_cast<const void*>(&one64) : &one32;
    const void* zero = wide() ? static_cast<const void*>(&zero64) : &zero32;
    lt_.run(lt_.cublasLtMatmul(lt_.handle, operation_.get(), one, o.a, a_.get(), o.b, b_.get(),
                               o.accumulate ? one : zero, o.c, c_.get(), o.c, c_.get(),
                               &*algorithm_, o.workspace.data(), o.workspace.size(), stream()),
            "cublasLtMatmul");
    return true;
  }

 private:
  using Operation = Owned<std::remove_pointer_t<cublasLtMatmulDesc_t>>;
  using Layout = Owned<std::remove_pointer_t<cublasLtMatrixLayout_t>>;
  using Preference = Owned<std::remove_pointer_t<cublasLtMatmulPreference_t>>;

  bool wide() const { return key_.c.type == CUDA_R_64F; }

  // Algorithms are proposed for pointers as they are aligned.
  void set_bias(const Operands& operands) const {
    if (key_.bias) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, operands.bias);
  }

  std::optional<cublasLtMatmulAlgo_t> first_choice() const {
    cublasLtMatmulPreference_t made = nullptr;
    lt_.run(lt_.cublasLtMatmulPreferenceCreate(&made), "cublasLtMatmulPreferenceCreate");
    const Preference preference(made, lt_.cublasLtMatmulPreferenceDestroy);
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t name, const auto& value) {
      lt_.run(lt_.cublasLtMatmulPreferenceSetAttribute(made, name, &value, sizeof value),
              "cublasLtMatmulPreferenceSetAttribute");
    };
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, key_.workspace);
    // Sums that are cut are added in order, in the type that they are computed in.
    prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
           static_cast<uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, static_cast<uint32_t>(key_.a.alignment));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, static_cast<uint32_t>(key_.b.alignment));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, static_cast<uint32_t>(key_.c.alignment));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, static_cast<uint32_t>(key_.c.alignment));
    cublasLtMatmulHeuristicResult_t found{};
    int n = 0;
    const cublasStatus_t status = lt_.cublasLtMatmulAlgoGetHeuristic(
        lt_.handle, operation_.get(), a_.get(), b_.get(), c_.get(), c_.get(), made, 1, &found, &n);
    if (status != CUBLAS_STATUS_SUCCESS || n == 0 || found.state != CUBLAS_STATUS_SUCCESS)
      return std::nullopt;
    return found.algo;
  }

  void set(cublasLtMatmulDescAttributes_t name, const auto& value) const {
    lt_.run(lt_.cublasLtMatmulDescSetAttribute(operation_.get(), name, &value, sizeof value),
            "cublasLtMatmulDescSetAttribute");
  }

  Operation operation() const {
    const cublasComputeType_t compute =
        wide() ? CUBLAS_COMPUTE_64F
               : (key_.a.type == CUDA_R_32F && tf32_wanted() ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                             : CUBLAS_COMPUTE_32F);
    cublasLtMatmulDesc_t made = nullptr;
    lt_.run(lt_.cublasLtMatmulDescCreate(&made, compute, wide() ? CUDA_R_64F : CUDA_R_32F),
            "cublasLtMatmulDescCreate");
    return {made, lt_.cublasLtMatmulDescDestroy};
  }

  Layout layout(const Matrix& x) const {
    cublasLtMatrixLayout_t made = nullptr;
    lt_.run(lt_.cublasLtMatrixLayoutCreate(&made, x.type, static_cast<uint64_t>(x.rows),
                                           static_cast<uint64_t>(x.columns), x.leading),
            "cublasLtMatrixLayoutCreate");
    Layout result(made, lt_.cublasLtMatrixLayoutDestroy);
    const auto set = [&](cublasLtMatrixLayoutAttribute_t name, const auto& value) {
      lt_.run(lt_.cublasLtMatrixLayoutSetAttribute(made, name, &value, sizeof value),
              "cublasLtMatrixLayoutSetAttribute");
    };
    set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<int32_t>(key_.batch));
    set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, x.batch_step);
    return result;
  }

  const CublasLt& lt_;
  const Key key_;
  Operation operation_;
  Layout a_, b_, c_;
  std::optional<cublasLtMatmulAlgo_t> algorithm_;
};

std::mutex mutex;
// Guarded by it. Never destroyed: when a process ends the library may have gone before.
std::map<Key, Plan>& plans = *new std::map<Key, Plan>;

bool run_plan(const CublasLt& lt, const Key& key, const Operands& operands) {
  const std::lock_guard lock(mutex);
  auto known = plans.find(key);
  if (known == plans.end())
    known = plans
                .emplace(std::piecewise_construct, std::forward_as_tuple(key),
                         std::forward_as_tuple(lt, key, operands))
                .first;
  return known->second.run(operands);
}

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

// At most what the widest loads need: more would make the algorithm, and with it the bits, depend
// on where in an arena an operand happens to lie.
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

}  // namespace

bool product_by_library(const Product& p, std::span<std::byte> workspace) {
  if (p.a.dtype != p.b.dtype || p.m * p.n * p.k == 0) return false;
  // Its epilogue takes a bias like the result, and none in f64.
  if (p.bias && (p.bias->dtype() != p.c.dtype || p.c.dtype == DType::f64)) return false;
  const CublasLt* const lt = libraries_forbidden() ? nullptr : cublas();
  if (!lt) return false;
  const std::span<std::byte> scratch = aligned(workspace);
  const void* const bias = p.bias ? p.bias->data : nullptr;
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
    part.c.data = at(p.c, run * inner.size * p.m * p.c.row);
    // c' = b' a': what lies in rows is theirs in columns.
    const auto left = transposed(part.b, p.k, p.n, inner.b);
    const auto right = transposed(part.a, p.m, p.k, inner.a);
    if (!left || !right) return false;
    const Matrix result{*type_of(p.c.dtype),      p.n, p.m, p.c.row, p.m * p.c.row, false,
                        alignment_of(part.c.data)};
    const Key key{.a = *left,
                  .b = *right,
                  .c = result,
                  .batch = inner.size,
                  .bias = bias ? alignment_of(bias) : 0,
                  .workspace = scratch.size()};
    // Otherwise whoever asks does the whole batch again.
    if (!run_plan(*lt, key, {part.b.data, part.a.data, part.c.data, bias, p.accumulate, scratch}))
      return false;
  }
  return true;
}

}  // namespace plimsoll::cuda
