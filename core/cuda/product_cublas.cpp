// Matrix products by cuBLASLt.
#include <cublasLt.h>

#include <bit>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "core/autotune.h"
#include "core/cache.h"
#include "core/cuda/libraries.h"
#include "core/cuda/product.h"
#include "core/cuda/runtime.h"
#include "core/cuda/tuning.h"

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
  PLIMSOLL_FUNCTION(cublasLtMatmulAlgoCheck);
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
  int bias;  // alignment of its address; 0: there is none
  uint64_t workspace;
  bool accumulate;  // never timed: its algorithm stays the one that the heuristic prefers
  auto operator<=>(const Key&) const = default;
};

std::string name_of(const Key& key) {
  std::string name = cat("product ", key.batch, " ", key.bias, " ", key.workspace);
  for (const Matrix& x : {key.a, key.b, key.c})
    name += cat(" ", static_cast<int>(x.type), " ", x.rows, " ", x.columns, " ", x.leading, " ",
                x.batch_step, " ", x.turned, " ", x.alignment);
  return name + (tf32_wanted() ? " tf32" : "");
}

// The operands of a call.
struct Operands {
  const void *a, *b;
  void* c;
  const void* bias;
  bool accumulate;
  std::span<std::byte> workspace;
};

template <class T>
using Destroy = cublasStatus_t (*)(T*);

template <class T>
using Owned = std::unique_ptr<T, Destroy<T>>;

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

int alignment_of(const void* data) {
  return std::min(256, 1 << std::countr_zero(reinterpret_cast<uintptr_t>(data) | 256));
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

// A product made ready: descriptors, and the algorithm: the one that the heuristic prefers, or the
// fastest of those that it proposes.
class Plan {
 public:
  Plan(const CublasLt& lt, const Key& key, const void* bias)
      : lt_(lt),
        key_(key),
        operation_(operation(lt, key, bias)),
        a_(layout(lt, key.a, key.batch)),
        b_(layout(lt, key.b, key.batch)),
        c_(layout(lt, key.c, key.batch)) {
    if (const std::vector<Algorithm> found = proposals(1); !found.empty()) algorithm_ = found[0];
  }

  bool possible() const { return algorithm_.has_value(); }

  // The caller holds the lock under which descriptors are used. The first product that does not add
  // to c is where algorithms are timed, if that is wanted: each of them writes the same c, so that
  // no more memory is needed.
  void run(const Operands& operands) {
    if (key_.bias) set_bias(lt_, operation_.get(), operands.bias);
    if (!chosen_ && !key_.accumulate && autotune() && !recording()) choose(operands);
    run(*algorithm_, operands);
  }

 private:
  using Algorithm = cublasLtMatmulAlgo_t;

  static bool recording() {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    check_cuda(cudaStreamIsCapturing(stream(), &status), "cudaStreamIsCapturing");
    return status != cudaStreamCaptureStatusNone;
  }

  void run(const Algorithm& algorithm, const Operands& o) const {
    const double one64 = 1, zero64 = 0;
    const float one32 = 1, zero32 = 0;
    const bool wide = key_.c.type == CUDA_R_64F;
    const void* one = wide ? static_cast<const void*>(&one64) : &one32;
    const void* zero = wide ? static_cast<const void*>(&zero64) : &zero32;
    lt_.run(lt_.cublasLtMatmul(lt_.handle, operation_.get(), one, o.a, a_.get(), o.b, b_.get(),
                               o.accumulate ? one : zero, o.c, c_.get(), o.c, c_.get(), &algorithm,
                               o.workspace.data(), o.workspace.size(), stream()),
            "cublasLtMatmul");
  }

  // The first `most` algorithms that the heuristic proposes, best first.
  std::vector<Algorithm> proposals(size_t most) const {
    cublasLtMatmulPreference_t made = nullptr;
    lt_.run(lt_.cublasLtMatmulPreferenceCreate(&made), "cublasLtMatmulPreferenceCreate");
    const Owned<std::remove_pointer_t<cublasLtMatmulPreference_t>> preference(
        made, lt_.cublasLtMatmulPreferenceDestroy);
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
    std::vector<cublasLtMatmulHeuristicResult_t> found(most);
    int n = 0;
    const cublasStatus_t status = lt_.cublasLtMatmulAlgoGetHeuristic(
        lt_.handle, operation_.get(), a_.get(), b_.get(), c_.get(), c_.get(), made,
        static_cast<int>(most), found.data(), &n);
    std::vector<Algorithm> usable;  // none: not by cuBLAS
    for (int i = 0; status == CUBLAS_STATUS_SUCCESS && i < n; ++i)
      if (found[static_cast<size_t>(i)].state == CUBLAS_STATUS_SUCCESS)
        usable.push_back(found[static_cast<size_t>(i)].algo);
    return usable;
  }

  struct NotTimed {};  // thrown where there is nothing to keep

  // The fastest, or what an earlier process found so: what it kept are the bytes of the algorithm,
  // which cuBLAS of the same version takes back.
  void choose(const Operands& operands) {
    chosen_ = true;
    const auto time = [&] {
      const std::vector<Algorithm> found = proposals(kMostCandidates);
      const Times times = time_candidates(found.size(), [&](size_t i) { run(found[i], operands); });
      const std::optional<size_t> best = fastest(times);
      if (!best) throw NotTimed();
      const auto* bytes = reinterpret_cast<const uint8_t*>(&found[*best]);
      return CachedBytes(bytes, bytes + sizeof(Algorithm));
    };
    const std::filesystem::path folder = cache_folder();
    try {
      const CachedBytes bytes =
          folder.empty()
              ? time()
              : cached_file(folder,
                            {"products 1", cat("cuBLAS ", lt_.cublasLtGetVersion()),
                             device_identity(), name_of(key_), cat("fastest of ", kMostCandidates)},
                            time, [&](const CachedBytes& kept) { return fits(kept); });
      std::memcpy(&*algorithm_, bytes.data(), sizeof(Algorithm));
    } catch (const NotTimed&) {
    }
  }

  bool fits(const CachedBytes& kept) const {
    Algorithm algorithm;
    if (kept.size() != sizeof algorithm) return false;
    std::memcpy(&algorithm, kept.data(), sizeof algorithm);
    cublasLtMatmulHeuristicResult_t result{};
    return lt_.cublasLtMatmulAlgoCheck(lt_.handle, operation_.get(), a_.get(), b_.get(), c_.get(),
                                       c_.get(), &algorithm, &result) == CUBLAS_STATUS_SUCCESS &&
           result.workspaceSize <= key_.workspace;
  }

  using Operation = Owned<std::remove_pointer_t<cublasLtMatmulDesc_t>>;
  using Layout = Owned<std::remove_pointer_t<cublasLtMatrixLayout_t>>;

  static void set_bias(const CublasLt& lt, cublasLtMatmulDesc_t operation, const void* bias) {
    lt.run(lt.cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias,
                                             sizeof bias),
           "cublasLtMatmulDescSetAttribute");
  }

  static Operation operation(const CublasLt& lt, const Key& key, const void* bias) {
    const bool wide = key.a.type == CUDA_R_64F;
    const cublasComputeType_t compute =
        wide ? CUBLAS_COMPUTE_64F
             : (key.a.type == CUDA_R_32F && tf32_wanted() ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                          : CUBLAS_COMPUTE_32F);
    cublasLtMatmulDesc_t made = nullptr;
    lt.run(lt.cublasLtMatmulDescCreate(&made, compute, wide ? CUDA_R_64F : CUDA_R_32F),
           "cublasLtMatmulDescCreate");
    Operation result(made, lt.cublasLtMatmulDescDestroy);
    const auto set = [&](cublasLtMatmulDescAttributes_t name, const auto& value) {
      lt.run(lt.cublasLtMatmulDescSetAttribute(made, name, &value, sizeof value),
             "cublasLtMatmulDescSetAttribute");
    };
    set(CUBLASLT_MATMUL_DESC_TRANSA, key.a.turned ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, key.b.turned ? CUBLAS_OP_T : CUBLAS_OP_N);
    if (key.bias) {
      set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
      set_bias(lt, made, bias);
    }
    return result;
  }

  static Layout layout(const CublasLt& lt, const Matrix& x, int64_t batch) {
    cublasLtMatrixLayout_t made = nullptr;
    lt.run(lt.cublasLtMatrixLayoutCreate(&made, x.type, static_cast<uint64_t>(x.rows),
                                         static_cast<uint64_t>(x.columns), x.leading),
           "cublasLtMatrixLayoutCreate");
    Layout result(made, lt.cublasLtMatrixLayoutDestroy);
    const auto set = [&](cublasLtMatrixLayoutAttribute_t name, const auto& value) {
      lt.run(lt.cublasLtMatrixLayoutSetAttribute(made, name, &value, sizeof value),
             "cublasLtMatrixLayoutSetAttribute");
    };
    set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<int32_t>(batch));
    set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, x.batch_step);
    return result;
  }

  const CublasLt& lt_;
  const Key key_;
  Operation operation_;
  Layout a_, b_, c_;
  std::optional<Algorithm> algorithm_;
  bool chosen_ = false;  // among the proposals
};

std::mutex mutex;
// Guarded by it. Never destroyed: when a process ends the library may have gone before.
std::map<Key, Plan>& plans = *new std::map<Key, Plan>;

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
    part.c.data = at(p.c, run * inner.size * p.m * p.n);
    // c' = b' a': what lies in rows is theirs in columns.
    const auto left = transposed(part.b, p.k, p.n, inner.b);
    const auto right = transposed(part.a, p.m, p.k, inner.a);
    if (!left || !right) return false;
    const Matrix result{*type_of(p.c.dtype),      p.n, p.m, p.n, p.m * p.n, false,
                        alignment_of(part.c.data)};
    const Key key{*left,          *right,      result, inner.size, bias ? alignment_of(bias) : 0,
                  scratch.size(), p.accumulate};
    const std::lock_guard lock(mutex);
    auto known = plans.find(key);
    if (known == plans.end())
      known = plans
                  .emplace(std::piecewise_construct, std::forward_as_tuple(key),
                           std::forward_as_tuple(*lt, key, bias))
                  .first;
    if (!known->second.possible()) return false;  // whoever asks does the whole batch again
    known->second.run({part.b.data, part.a.data, part.c.data, bias, p.accumulate, scratch});
  }
  return true;
}

}  // namespace plimsoll::cuda
