// The gradients of gamma and beta of all norms on a GPU: over all rows,
//   dgamma = sum dy xhat,  dbeta = sum dy
#pragma once

#include "ops/common/reduce_axes.cuh"

namespace plimsoll::cuda {

// normal(at, row) is xhat of element `at` of `row`.
template <class C, class Normal>
struct ParameterGradients {
  struct State {
    double dgamma, dbeta;
  };
  Elements<C> dy;
  Normal normal;
  C *dgamma, *dbeta;  // dbeta may be nullptr
  __device__ State start(int64_t, int64_t) const { return {0, 0}; }
  __device__ void take(State& s, int64_t at, int64_t row) const {
    const C d = dy.get(at);
    s.dgamma += static_cast<double>(d * normal(at, row));
    s.dbeta += static_cast<double>(d);
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
  reduce({1, rows, columns}, ParameterGradients<C, Normal>{elements<C>(dy), normal, dgamma, dbeta},
         workspace);
}

}  // namespace plimsoll::cuda
