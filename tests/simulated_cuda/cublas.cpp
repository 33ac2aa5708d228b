// A library with the functions of cuBLASLt (cublasLt.h). Its algorithms give the same result and
// differ in how much else they queue: number 0, which the heuristic prefers, takes four pieces of
// work, number 1 three and number 2 two. Number 3 cannot run. PLIMSOLL_SIMULATED_CUBLAS is its
// version. Epilogues are applied before anything is rounded; with PLIMSOLL_SLOW_EPILOGUES those
// besides a bias take ten pieces more, with PLIMSOLL_REFUSED_EPILOGUES they cannot run.
#include <cublasLt.h>

#include <cstdlib>
#include <cstring>

#include "core/half.h"
#include "ops/gelu/formulas.h"

struct SimulatedMatmul {
  bool wide = false;  // sums in f64
  cublasOperation_t turned[2] = {CUBLAS_OP_N, CUBLAS_OP_N};
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  void *bias = nullptr, *aux = nullptr;
  int64_t aux_leading = 0;
  bool has(int bit) const { return (epilogue & bit) != 0; }
};
struct SimulatedLayout {
  cudaDataType_t type;
  uint64_t rows, columns;
  int64_t leading;
  int32_t batch = 1;
  int64_t step = 0;
};
struct SimulatedPreference {
  uint64_t workspace = 0;
  uint32_t scheme = ~0u;
};

namespace {

using plimsoll::BFloat16, plimsoll::Half;

constexpr uint64_t kAlgorithms = 4, kMark = 0x706c696d;
constexpr size_t kWorkspace = 1024;  // of algorithm 2
SimulatedCublasCounts counts{};

double get(const void* data, cudaDataType_t type, int64_t i) {
  switch (type) {
    case CUDA_R_32F:
      return static_cast<const float*>(data)[i];
    case CUDA_R_64F:
      return static_cast<const double*>(data)[i];
    case CUDA_R_16F:
      return static_cast<double>(static_cast<const Half*>(data)[i]);
    default:
      return static_cast<double>(static_cast<const BFloat16*>(data)[i]);
  }
}

void set(void* data, cudaDataType_t type, int64_t i, double value) {
  switch (type) {
    case CUDA_R_32F:
      static_cast<float*>(data)[i] = static_cast<float>(value);
      break;
    case CUDA_R_64F:
      static_cast<double*>(data)[i] = value;
      break;
    case CUDA_R_16F:
      static_cast<Half*>(data)[i] = Half(static_cast<float>(value));
      break;
    default:
      static_cast<BFloat16*>(data)[i] = BFloat16(static_cast<float>(value));
  }
}

// Element (i, j) of a matrix in columns, perhaps turned, of a batch.
int64_t place(const SimulatedLayout& x, int64_t i, int64_t j, bool turned, int64_t matrix) {
  return matrix * x.step + (turned ? j + i * x.leading : i + j * x.leading);
}

template <class T>
cublasStatus_t assign(T& to, const void* value, size_t bytes) {
  if (bytes != sizeof(T)) return CUBLAS_STATUS_NOT_SUPPORTED;
  std::memcpy(&to, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

// Of cublasLtEpilogue_t: what its numbers are made of.
constexpr int kBias = 4, kSums = 16, kGelu = 32, kGeluGradient = 64, kAux = 128, kSumsOfB = 512;
constexpr int kMoreThanBias = kGelu | kGeluGradient | kSumsOfB;

// What it makes of one element of the result, in double, and of the matrix beside it.
double after(const SimulatedMatmul& m, double sum, const SimulatedLayout& d, int64_t i, int64_t j) {
  using plimsoll::formulas::GeluTanh;
  if (m.has(kBias)) sum += get(m.bias, d.type, i);
  const int64_t at = i + j * m.aux_leading;
  if (m.has(kGeluGradient)) return sum * GeluTanh::df(get(m.aux, d.type, at));
  if (m.has(kGelu) && m.has(kAux)) set(m.aux, d.type, at, sum);
  return m.has(kGelu) ? GeluTanh::f(sum) : sum;
}

// Rules of the real one.
bool is_possible(const SimulatedMatmul& m, const SimulatedLayout& d) {
  return m.has(kAux) == (m.aux != nullptr) && (!m.has(kAux) || m.aux_leading % 8 == 0) &&
         (m.bias != nullptr) == m.has(kBias | kSums | kSumsOfB) &&
         (!m.has(kMoreThanBias) || d.batch == 1);
}

size_t workspace_of(const cublasLtMatmulAlgo_t& algorithm) {
  return algorithm.data[0] == 2 ? kWorkspace : 0;
}

}  // namespace

size_t cublasLtGetVersion() {
  const char* version = std::getenv("PLIMSOLL_SIMULATED_CUBLAS");
  return version ? static_cast<size_t>(std::atoi(version)) : 130000;
}
const char* cublasLtGetStatusString(cublasStatus_t) { return "simulated"; }
cublasStatus_t cublasLtCreate(cublasLtHandle_t*) { return CUBLAS_STATUS_SUCCESS; }

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* made, cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  if ((compute == CUBLAS_COMPUTE_64F) != (scale == CUDA_R_64F)) return CUBLAS_STATUS_NOT_SUPPORTED;
  *made = new SimulatedMatmul{.wide = scale == CUDA_R_64F};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) {
  delete desc;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                                              cublasLtMatmulDescAttributes_t name,
                                              const void* value, size_t bytes) {
  switch (name) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return assign(desc->turned[0], value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return assign(desc->turned[1], value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return assign(desc->epilogue, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER:
      return assign(desc->aux, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD:
      return assign(desc->aux_leading, value, bytes);
    default:
      return assign(desc->bias, value, bytes);
  }
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* made, cudaDataType_t type,
                                          uint64_t rows, uint64_t columns, int64_t leading) {
  if (leading < static_cast<int64_t>(rows)) return CUBLAS_STATUS_NOT_SUPPORTED;
  *made = new SimulatedLayout{type, rows, columns, leading};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete layout;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t name,
                                                const void* value, size_t bytes) {
  return name == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT ? assign(layout->batch, value, bytes)
                                                    : assign(layout->step, value, bytes);
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* made) {
  *made = new SimulatedPreference;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete preference;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t name,
                                                    const void* value, size_t bytes) {
  if (name == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES)
    return assign(preference->workspace, value, bytes);
  if (name == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK)
    return assign(preference->scheme, value, bytes);
  return bytes == sizeof(uint32_t) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t desc,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int most,
                                              cublasLtMatmulHeuristicResult_t* found, int* n) {
  if (preference->scheme != CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE || !is_possible(*desc, *d))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  ++(most == 1 ? counts.asked_for_one : counts.asked_for_more);
  *n = 0;
  for (uint64_t i = 0; i < kAlgorithms && *n < most; ++i) {
    const cublasLtMatmulAlgo_t algorithm{{i, kMark}};
    const size_t bytes = workspace_of(algorithm);
    if (bytes <= preference->workspace) found[(*n)++] = {algorithm, bytes, CUBLAS_STATUS_SUCCESS};
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t, cublasLtMatmulDesc_t,
                                       cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                       cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                       const cublasLtMatmulAlgo_t* algorithm,
                                       cublasLtMatmulHeuristicResult_t* result) {
  if (algorithm->data[0] >= kAlgorithms || algorithm->data[1] != kMark)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  *result = {*algorithm, workspace_of(*algorithm), CUBLAS_STATUS_SUCCESS};
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t desc, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t a_layout, const void* b,
                              cublasLtMatrixLayout_t b_layout, const void* beta, const void*,
                              cublasLtMatrixLayout_t, void* d, cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t* algorithm, void*, size_t bytes,
                              cudaStream_t stream) {
  const uint64_t number = algorithm->data[0];
  if (number >= kAlgorithms || algorithm->data[1] != kMark || bytes < workspace_of(*algorithm))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  if (desc->has(kMoreThanBias) && std::getenv("PLIMSOLL_REFUSED_EPILOGUES"))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  ++counts.products[number];
  if (number == 3) return CUBLAS_STATUS_NOT_SUPPORTED;
  counts.epilogues += desc->has(kMoreThanBias);
  const bool slow = desc->has(kMoreThanBias) && std::getenv("PLIMSOLL_SLOW_EPILOGUES");
  for (uint64_t more = number; more < (slow ? 13 : 3); ++more) simulated::queue(stream, [] {});
  const bool wide = desc->wide;
  const double by = wide ? *static_cast<const double*>(alpha) : *static_cast<const float*>(alpha);
  const double keep = wide ? *static_cast<const double*>(beta) : *static_cast<const float*>(beta);
  simulated::queue(stream, [=, matmul = *desc, x = *a_layout, y = *b_layout, z = *d_layout] {
    const bool turn_x = matmul.turned[0] == CUBLAS_OP_T, turn_y = matmul.turned[1] == CUBLAS_OP_T;
    const auto depth = static_cast<int64_t>(turn_x ? x.rows : x.columns);
    for (int64_t matrix = 0; matrix < z.batch; ++matrix)
      for (int64_t j = 0; j < static_cast<int64_t>(z.columns); ++j)
        for (int64_t i = 0; i < static_cast<int64_t>(z.rows); ++i) {
          double sum = 0;
          for (int64_t k = 0; k < depth; ++k)
            sum += get(a, x.type, place(x, i, k, turn_x, matrix)) *
                   get(b, y.type, place(y, k, j, turn_y, matrix));
          const int64_t at = place(z, i, j, false, matrix);
          sum *= by;
          if (keep != 0) sum += keep * get(d, z.type, at);
          set(d, z.type, at, after(matmul, sum, z, i, j));
        }
    const auto rows = static_cast<int64_t>(z.rows), columns = static_cast<int64_t>(z.columns);
    for (int64_t i = 0; matmul.has(kSums) && i < rows; ++i) {
      double sum = 0;
      for (int64_t j = 0; j < columns; ++j) sum += get(d, z.type, place(z, i, j, false, 0));
      set(matmul.bias, z.type, i, sum);
    }
    for (int64_t j = 0; matmul.has(kSumsOfB) && j < columns; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < depth; ++k) sum += get(b, y.type, place(y, k, j, turn_y, 0));
      set(matmul.bias, z.type, j, sum);
    }
  });
  return CUBLAS_STATUS_SUCCESS;
}

SimulatedCublasCounts simulatedCublasCounts() { return counts; }
