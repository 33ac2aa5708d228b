#include "core/cuda/product.h"

#include "core/cuda/elements.cuh"
#include "core/cuda/walk.cuh"

namespace plimsoll::cuda {
namespace {

constexpr int kTile = 16;  // results along each axis of a tile, one for each thread of a block
static_assert(kTile * kTile == kThreads);

template <class C>
struct ProductOperands {
  Walk<2> walk;  // over the batch: where the matrices of a and b start
  Elements<C> a, b, c, bias;
  int64_t a_row, a_column, b_row, b_column, m, n, k, tiles_down, tiles_across;
  bool accumulate;
};

// A block makes a tile of c. The tiles of a and b that it is made of pass through shared memory.
template <class C>
__global__ void product_kernel(ProductOperands<C> p) {
  __shared__ C a[kTile][kTile], b[kTile][kTile];
  const int down = threadIdx.x / kTile, across = threadIdx.x % kTile;
  const int64_t i = blockIdx.x / p.tiles_across % p.tiles_down * kTile + down;
  const int64_t j = blockIdx.x % p.tiles_across * kTile + across;
  const int64_t matrix = blockIdx.x / p.tiles_across / p.tiles_down;
  const auto start = p.walk.offsets(matrix);
  C sum = 0;
  for (int64_t first = 0; first < p.k; first += kTile) {
    const int64_t k_of_a = first + across, k_of_b = first + down;
    __syncthreads();  // whoever still reads the tiles before
    a[down][across] =
        i < p.m && k_of_a < p.k ? p.a.get(start[0] + i * p.a_row + k_of_a * p.a_column) : C(0);
    b[down][across] =
        k_of_b < p.k && j < p.n ? p.b.get(start[1] + k_of_b * p.b_row + j * p.b_column) : C(0);
    __syncthreads();
    for (int t = 0; t < kTile; ++t) sum += a[down][t] * b[t][across];
  }
  if (i >= p.m || j >= p.n) return;
  const int64_t at = (matrix * p.m + i) * p.n + j;
  if (p.bias.data) sum += p.bias.get(j);
  p.c.set(at, p.accumulate ? p.c.get(at) + sum : sum);
}

template <class C>
Elements<C> elements(const Matrices& x) {
  return {static_cast<std::byte*>(x.data), x.dtype};
}

}  // namespace

void product(const Product& p, std::span<std::byte> workspace) {
  if (product_by_library && product_by_library(p, workspace)) return;
  const int64_t tiles_down = (p.m + kTile - 1) / kTile, tiles_across = (p.n + kTile - 1) / kTile;
  const int64_t tiles = count(p.batch) * tiles_down * tiles_across;
  if (tiles == 0) return;
  visit_floating_elements(p.a.dtype, [&]<class C>() {
    const ProductOperands<C> operands{.walk = Walk<2>(p.batch, {p.a.batch, p.b.batch}),
                                      .a = elements<C>(p.a),
                                      .b = elements<C>(p.b),
                                      .c = elements<C>(p.c),
                                      .bias = p.bias ? cuda::elements<C>(*p.bias) : Elements<C>(),
                                      .a_row = p.a.row,
                                      .a_column = p.a.column,
                                      .b_row = p.b.row,
                                      .b_column = p.b.column,
                                      .m = p.m,
                                      .n = p.n,
                                      .k = p.k,
                                      .tiles_down = tiles_down,
                                      .tiles_across = tiles_across,
                                      .accumulate = p.accumulate};
    launch(product_kernel<C>, tiles, kThreads, operands);
  });
}

}  // namespace plimsoll::cuda
