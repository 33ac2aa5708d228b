// The library, and what is asked of it for one kind of product (plans_cublas.h).
#include "core/cuda/plans_cublas.h"

#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "core/cache.h"
#include "core/cuda/libraries.h"
#include "core/cuda/runtime.h"
#include "core/cuda/tuning.h"

namespace plimsoll::cuda {

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

size_t version_of(const CublasLt& lt) { return lt.cublasLtGetVersion(); }

namespace {

using Key = CublasKey;
using Matrix = CublasMatrix;
using Operands = CublasOperands;

std::string name_of(const Key& key) {
  std::string name = cat("product ", key.batch, " ", key.row, " ", key.workspace);
  for (const Matrix& x : {key.a, key.b, key.c})
    name += cat(" ", static_cast<int>(x.type), " ", x.rows, " ", x.columns, " ", x.leading, " ",
                x.batch_step, " ", x.turned, " ", x.alignment);
  if (key.epilogue != Epilogue::Kind::none)
    name += cat(" epilogue ", static_cast<int>(key.epilogue), " ", key.before);
  return name + (tf32_wanted() ? " tf32" : "");
}

// By cuBLAS' names.
cublasLtEpilogue_t epilogue_of(const Key& key) {
  switch (key.epilogue) {
    case Epilogue::Kind::gelu_tanh:
      return key.before ? (key.row ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS : CUBLASLT_EPILOGUE_GELU_AUX)
                        : (key.row ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU);
    case Epilogue::Kind::gelu_tanh_grad:
      return key.row ? CUBLASLT_EPILOGUE_DGELU_BGRAD : CUBLASLT_EPILOGUE_DGELU;
    case Epilogue::Kind::row_sums:
      return CUBLASLT_EPILOGUE_BGRADB;  // our a is their b
    default:
      return key.row ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
  }
}

template <class T>
using Destroy = cublasStatus_t (*)(T*);

template <class T>
using Owned = std::unique_ptr<T, Destroy<T>>;

// A product made ready: descriptors, and the algorithm: the one that the heuristic prefers, or the
// fastest of those that it proposes.
class Plan {
 public:
  Plan(const CublasLt& lt, const Key& key, const Operands& operands)
      : lt_(lt),
        key_(key),
        operation_(operation(lt, key, operands)),
        a_(layout(lt, key.a, key.batch)),
        b_(layout(lt, key.b, key.batch)),
        c_(layout(lt, key.c, key.batch)) {
    if (const std::vector<Algorithm> found = proposals(1); !found.empty()) algorithm_ = found[0];
  }

  bool possible() const { return algorithm_.has_value(); }

  // The caller holds the lock under which descriptors are used. The first product that does not add
  // to c is where algorithms are timed, if that is wanted: each of them writes the same c, so that
  // no more memory is needed. False: an epilogue that cannot run after all, and is not possible
  // from now on; kernels can do without. A product by itself that cannot run is a DeviceError.
  bool run(const Operands& operands) {
    set_pointers(lt_, operation_.get(), key_, operands);
    if (!chosen_ && !key_.accumulate && can_time()) choose(operands);
    const cublasStatus_t status = queue(*algorithm_, operands);
    if (status != CUBLAS_STATUS_SUCCESS && key_.epilogue != Epilogue::Kind::none) {
      algorithm_.reset();
      return false;
    }
    lt_.run(status, kMatmul);
    return true;
  }

 private:
  using Algorithm = cublasLtMatmulAlgo_t;
  static constexpr const char* kMatmul = "cublasLtMatmul";

  cublasStatus_t queue(const Algorithm& algorithm, const Operands& o) const {
    const double one64 = 1, zero64 = 0;
    const float one32 = 1, zero32 = 0;
    const bool wide = key_.c.type == CUDA_R_64F;
    const void* one = wide ? static_cast<const void*>(&one64) : &one32;
    const void* zero = wide ? static_cast<const void*>(&zero64) : &zero32;
    return lt_.cublasLtMatmul(lt_.handle, operation_.get(), one, o.a, a_.get(), o.b, b_.get(),
                              o.accumulate ? one : zero, o.c, c_.get(), o.c, c_.get(), &algorithm,
                              o.workspace.data(), o.workspace.size(), stream());
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
      const Times times = time_candidates(
          found.size(), [&](size_t i) { lt_.run(queue(found[i], operands), kMatmul); });
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
                            {"products 1", cat("cuBLAS ", version_of(lt_)), device_identity(),
                             name_of(key_), cat("fastest of ", kMostCandidates)},
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

  static void set(const CublasLt& lt, cublasLtMatmulDesc_t operation,
                  cublasLtMatmulDescAttributes_t name, const auto& value) {
    lt.run(lt.cublasLtMatmulDescSetAttribute(operation, name, &value, sizeof value),
           "cublasLtMatmulDescSetAttribute");
  }

  // Algorithms are proposed for pointers as they are aligned.
  static void set_pointers(const CublasLt& lt, cublasLtMatmulDesc_t operation, const Key& key,
                           const Operands& operands) {
    if (key.row) set(lt, operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, operands.row);
    if (key.before) set(lt, operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, operands.before);
  }

  static Operation operation(const CublasLt& lt, const Key& key, const Operands& operands) {
    const bool wide = key.a.type == CUDA_R_64F;
    const cublasComputeType_t compute =
        wide ? CUBLAS_COMPUTE_64F
             : (key.a.type == CUDA_R_32F && tf32_wanted() ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                          : CUBLAS_COMPUTE_32F);
    cublasLtMatmulDesc_t made = nullptr;
    lt.run(lt.cublasLtMatmulDescCreate(&made, compute, wide ? CUDA_R_64F : CUDA_R_32F),
           "cublasLtMatmulDescCreate");
    Operation result(made, lt.cublasLtMatmulDescDestroy);
    set(lt, made, CUBLASLT_MATMUL_DESC_TRANSA, key.a.turned ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(lt, made, CUBLASLT_MATMUL_DESC_TRANSB, key.b.turned ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(lt, made, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(key));
    if (key.before) set(lt, made, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, key.c.leading);
    set_pointers(lt, made, key, operands);
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

}  // namespace

bool run_plan(const CublasLt& lt, const Key& key, const Operands& operands) {
  const std::lock_guard lock(mutex);
  auto known = plans.find(key);
  if (known == plans.end())
    known = plans
                .emplace(std::piecewise_construct, std::forward_as_tuple(key),
                         std::forward_as_tuple(lt, key, operands))
                .first;
  return known->second.possible() && known->second.run(operands);
}

}  // namespace plimsoll::cuda
