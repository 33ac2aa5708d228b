// The gradients of gamma and beta of all norms on a GPU: over all rows,
//   dgamma = sum dy xhat,  dbeta = sum dy
#pragma once

#include "ops/common/reduce_axes.cuh"

namespace plimsoll::cuda {

// Normal has the elements x, of(value, column, row), which is xhat of one, and gradient(dy, xhat,
// column), which is what reaches it of dy.
template <class C, class Normal>
struct ParameterGradients {
  struct State {
    double dgamma, dbeta;
  };
  Elements<C> dy;
  Normal normal;
  int64_t columns;
  C *dgamma, *dbeta;  // dbeta may be nullptr
  __device__ State start(int64_t, int64_t) const { return {0, 0}; }
  __device__ void add(State& s, C dy_here, C value, int64_t column, int64_t row) const {
    const C xhat = normal.of(value, column, row), d = normal.gradient(dy_here, xhat, column);
    s.dgamma += static_cast<double>(d * xhat);
    s.dbeta += static_cast<double>(d);
  }
  __device__ void take(State& s, int64_t at, int64_t row) const {
    add(s, dy.get(at), normal.x.get(at), at - row * columns, row);
  }
  __device__ void take_pack(State (&s)[kPack], int64_t i, int64_t at, int64_t row) const {
    C d[kPack], values[kPack];
    dy.get(at, at + kPack, d);
    normal.x.get(at, at + kPack, values);
    for (int j = 0; j < kPack; ++j) add(s[j], d[j], values[j], i + j, row);
  }
  __device__ void join(State& s, const State& other) const {
    s.dgamma += other.dgamma;
    s.dbeta += other.dbeta;
  }
  __device__ void finish(int64_t i, const State& s) const {
    dgamma[i] = static_cast<C>(s.dgamma);
    if (dbeta) dbeta[i] = static_cast<C>(s.dbeta);
  }
};

// The workspace has cuda_reduce_bytes({1, rows, columns}).
template <class C, class Normal>
void parameter_gradients(int64_t rows, int64_t columns, const View& dy, const Normal& normal,
                         C* dgamma, C* dbeta, std::span<std::byte> workspace) {
  reduce({1, rows, columns},
         ParameterGradients<C, Normal>{elements<C>(dy), normal, columns, dgamma, dbeta}, workspace);
}

}  // namespace plimsoll::cuda
