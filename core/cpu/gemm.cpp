#include "core/cpu/gemm.h"

// Panels are cut by parallel_for; Eigen must neither start threads nor choose blocks by their
// number.
#define EIGEN_DONT_PARALLELIZE
#include <Eigen/Core>

#include "core/cpu/parallel.h"

namespace plimsoll {
namespace {

template <class T, int Order>
using MatrixMap = Eigen::Map<const Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Order>,
                             Eigen::Unaligned, Eigen::OuterStride<>>;

template <class T>
bool rows_are_contiguous(const MatrixRef<T>& a) {
  return a.col_stride == 1;
}

// Calls f with an Eigen map of `a` in its own storage order.
template <class T, class F>
void with_map(const MatrixRef<T>& a, int64_t rows, int64_t cols, F&& f) {
  if (rows_are_contiguous(a))
    f(MatrixMap<T, Eigen::RowMajor>(a.data, rows, cols, Eigen::OuterStride<>(a.row_stride)));
  else
    f(MatrixMap<T, Eigen::ColMajor>(a.data, rows, cols, Eigen::OuterStride<>(a.col_stride)));
}

template <class T>
void gemm_panel(int64_t m, int64_t n, int64_t k, MatrixRef<T> a, MatrixRef<T> b, T* c,
                int64_t c_stride, Store store) {
  using Out = Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>,
                         Eigen::Unaligned, Eigen::OuterStride<>>;
  Out out(c, m, n, Eigen::OuterStride<>(c_stride));
  if (store == Store::overwrite) out.setZero();
  with_map(a, m, k, [&](const auto& left) {
    with_map(b, k, n, [&](const auto& right) { out.noalias() += left * right; });
  });
}

// Long sides are cut into panels of at least 128 that are worth a dispatch (2 million operations).
int64_t panel_size(int64_t side, int64_t operations) {
  const int64_t panels = std::clamp<int64_t>(std::min(side / 128, operations / 2'000'000), 1, 16);
  return pieces(pieces(side, panels), 16) * 16;
}

}  // namespace

template <class T>
void gemm(int64_t m, int64_t n, int64_t k, MatrixRef<T> a, MatrixRef<T> b, T* c, int64_t c_stride,
          Store store) {
  if (m == 0 || n == 0) return;
  const int64_t operations = 2 * m * n * std::max<int64_t>(k, 1);
  if (m >= n) {
    parallel_for(m, panel_size(m, operations), [&](int64_t begin, int64_t end) {
      gemm_panel<T>(end - begin, n, k, {a.data + begin * a.row_stride, a.row_stride, a.col_stride},
                    b, c + begin * c_stride, c_stride, store);
    });
  } else {
    parallel_for(n, panel_size(n, operations), [&](int64_t begin, int64_t end) {
      gemm_panel<T>(m, end - begin, k, a,
                    {b.data + begin * b.col_stride, b.row_stride, b.col_stride}, c + begin,
                    c_stride, store);
    });
  }
}

template void gemm<float>(int64_t, int64_t, int64_t, MatrixRef<float>, MatrixRef<float>, float*,
                          int64_t, Store);
template void gemm<double>(int64_t, int64_t, int64_t, MatrixRef<double>, MatrixRef<double>, double*,
                           int64_t, Store);

}  // namespace plimsoll
