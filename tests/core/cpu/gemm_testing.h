// Matrices for the tests of products: Eigen's, and the same values as an operand in memory.
#pragma once

#include <Eigen/Core>
#include <random>
#include <vector>

#include "core/cpu/gemm/gemm.h"

namespace plimsoll {

template <class T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// In memory as its transpose where `transposed`, with rows `gap` elements longer than they need be.
template <class T>
struct Stored {
  Stored(const Matrix<T>& values, bool transposed, int64_t gap) {
    const int64_t rows = transposed ? values.cols() : values.rows();
    const int64_t cols = transposed ? values.rows() : values.cols();
    memory.resize(static_cast<size_t>(rows * (cols + gap)), T(1e30));
    const int64_t step = cols + gap;
    ref = transposed ? MatrixRef<T>{memory.data(), 1, step} : MatrixRef<T>{memory.data(), step, 1};
    for (int64_t i = 0; i < values.rows(); ++i)
      for (int64_t j = 0; j < values.cols(); ++j)
        memory[static_cast<size_t>(i * ref.row_stride + j * ref.col_stride)] = values(i, j);
  }
  std::vector<T> memory;
  MatrixRef<T> ref;
};

template <class T>
Matrix<T> random_matrix(int64_t rows, int64_t cols, std::mt19937& random) {
  std::normal_distribution<double> normal;
  return Matrix<T>::NullaryExpr(rows, cols, [&] { return static_cast<T>(normal(random)); });
}

}  // namespace plimsoll
