#include "core/cuda/elements.cuh"
#include "core/cuda/product.cuh"
#include "core/cuda/walk.cuh"

namespace plimsoll::cuda {
namespace {

template <class C>
struct Strided {
  bool a_along_k, b_along_k;
  Walk<2> walk;  // over the batch: where the matrices of a and b start
  Elements<C> a_data, b_data, c_data, bias;
  int64_t a_row, a_column, b_row, b_column, m, n;
  bool accumulate;
  int64_t a_start = 0, b_start = 0, c_start = 0;  // of one matrix

  __device__ void enter(int64_t batch) {
    const auto at = walk.offsets(batch);
    a_start = at[0];
    b_start = at[1];
    c_start = batch * m * n;
  }
  __device__ C a(int64_t i, int64_t k) const {
    return a_data.get(a_start + i * a_row + k * a_column);
  }
  __device__ C b(int64_t k, int64_t j) const {
    return b_data.get(b_start + k * b_row + j * b_column);
  }
  __device__ void store(int64_t i, int64_t j, C sum) const {
    const int64_t at = c_start + i * n + j;
    if (bias.data) sum += bias.get(j);
    c_data.set(at, accumulate ? c_data.get(at) + sum : sum);
  }
};

template <class C>
Elements<C> elements(const Matrices& x) {
  return {static_cast<std::byte*>(x.data), x.dtype};
}

}  // namespace

void product(const Product& p, std::span<std::byte> workspace) {
  if (product_by_library && product_by_library(p, workspace)) return;
  visit_floating_elements(p.a.dtype, [&]<class C>() {
    Strided<C> operands{.a_along_k = p.a.column == 1,
                        .b_along_k = p.b.row == 1,
                        .walk = Walk<2>(p.batch, {p.a.batch, p.b.batch}),
                        .a_data = elements<C>(p.a),
                        .b_data = elements<C>(p.b),
                        .c_data = elements<C>(p.c),
                        .bias = p.bias ? cuda::elements<C>(*p.bias) : Elements<C>(),
                        .a_row = p.a.row,
                        .a_column = p.a.column,
                        .b_row = p.b.row,
                        .b_column = p.b.column,
                        .m = p.m,
                        .n = p.n,
                        .accumulate = p.accumulate};
    run_product<C>(operands, count(p.batch), p.m, p.n, p.k, workspace.data());
  });
}

}  // namespace plimsoll::cuda
