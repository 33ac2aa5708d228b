// A library with the functions of cuBLASLt (cublasLt.h). Its heuristic proposes one algorithm,
// which takes all of the workspace that it may have.
#include <cublasLt.h>

#include <cstring>
#include <vector>

#include "core/base/half.h"

struct SimulatedMatmul {
  bool wide = false;  // sums in f64
  cublasOperation_t turned[2] = {CUBLAS_OP_N, CUBLAS_OP_N};
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  void* bias = nullptr;
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

constexpr uint64_t kMark = 0x706c696d;
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

}  // namespace

size_t cublasLtGetVersion() { return 130000; }
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
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatmulPreference_t preference, int most,
                                              cublasLtMatmulHeuristicResult_t* found, int* n) {
  const bool biased = desc->epilogue == CUBLASLT_EPILOGUE_BIAS;
  if (preference->scheme != CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE || most < 1 ||
      biased != (desc->bias != nullptr))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  ++counts.asked;
  *n = 1;
  *found = {{{preference->workspace, kMark}}, preference->workspace, CUBLAS_STATUS_SUCCESS};
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t desc, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t a_layout, const void* b,
                              cublasLtMatrixLayout_t b_layout, const void* beta, const void*,
                              cublasLtMatrixLayout_t, void* d, cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t* algorithm, void*, size_t bytes,
                              cudaStream_t stream) {
  if (algorithm->data[1] != kMark || bytes < algorithm->data[0]) return CUBLAS_STATUS_NOT_SUPPORTED;
  ++counts.products;
  counts.workspace = bytes;
  const bool wide = desc->wide;
  const double by = wide ? *static_cast<const double*>(alpha) : *static_cast<const float*>(alpha);
  const double keep = wide ? *static_cast<const double*>(beta) : *static_cast<const float*>(beta);
  simulated::queue(stream, [=, matmul = *desc, x = *a_layout, y = *b_layout, z = *d_layout] {
    const bool turn_x = matmul.turned[0] == CUBLAS_OP_T, turn_y = matmul.turned[1] == CUBLAS_OP_T;
    const auto depth = static_cast<int64_t>(turn_x ? x.rows : x.columns);
    const auto rows = static_cast<int64_t>(z.rows), columns = static_cast<int64_t>(z.columns);
    // The rows of one and the columns of the other, dense.
    std::vector<double> left(static_cast<size_t>(rows * depth)),
        right(static_cast<size_t>(columns * depth));
    for (int64_t matrix = 0; matrix < z.batch; ++matrix) {
      for (int64_t k = 0; k < depth; ++k) {
        for (int64_t i = 0; i < rows; ++i)
          left[static_cast<size_t>(i * depth + k)] = get(a, x.type, place(x, i, k, turn_x, matrix));
        for (int64_t j = 0; j < columns; ++j)
          right[static_cast<size_t>(j * depth + k)] =
              get(b, y.type, place(y, k, j, turn_y, matrix));
      }
      for (int64_t j = 0; j < columns; ++j)
        for (int64_t i = 0; i < rows; ++i) {
          const double* const from = left.data() + i * depth;
          const double* const by_column = right.data() + j * depth;
          double sum = 0;
          for (int64_t k = 0; k < depth; ++k) sum += from[k] * by_column[k];
          const int64_t at = place(z, i, j, false, matrix);
          sum *= by;
          if (keep != 0) sum += keep * get(d, z.type, at);
          if (matmul.epilogue == CUBLASLT_EPILOGUE_BIAS) sum += get(matmul.bias, z.type, i);
          set(d, z.type, at, sum);
        }
    }
  });
  return CUBLAS_STATUS_SUCCESS;
}

SimulatedCublasCounts simulatedCublasCounts() { return counts; }
