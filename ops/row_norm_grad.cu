// The second stage of sums over rows.
#include "ops/columns.cuh"
#include "ops/row_norm_grad.h"

namespace plimsoll::cuda {
namespace {

// What a block's sums add to those of a column.
template <int kSums>
struct AddLeft {
  const float* left;  // [blocks, kSums, n]
  int64_t n;
  __device__ void operator()(int64_t block, int64_t column, double (&total)[kSums]) const {
    for (int k = 0; k < kSums; ++k)
      total[k] += static_cast<double>(left[(block * kSums + k) * n + column]);
  }
};

template <int kSums>
struct StoreTotals {
  float* totals[kSums];
  __device__ void operator()(int64_t, int64_t column, const double (&total)[kSums]) const {
    for (int k = 0; k < kSums; ++k) totals[k][column] = static_cast<float>(total[k]);
  }
};

template <int kSums>
void add(std::span<std::byte> workspace, int64_t rows, int64_t columns,
         std::span<float* const> totals) {
  StoreTotals<kSums> store{};
  for (size_t k = 0; k < kSums; ++k) store.totals[k] = totals[k];
  sum_columns<kSums>(
      ColumnCut(row_blocks(rows), columns), workspace.data() + left_bytes(rows, columns, kSums),
      AddLeft<kSums>{reinterpret_cast<const float*>(workspace.data()), columns}, store);
}

}  // namespace

void add_block_sums(std::span<std::byte> workspace, int64_t rows, int64_t columns,
                    std::span<float* const> totals) {
  totals.size() == 1 ? add<1>(workspace, rows, columns, totals)
                     : add<2>(workspace, rows, columns, totals);
}

}  // namespace plimsoll::cuda
