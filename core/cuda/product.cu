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
  int64_t a_row, a_column, b_row, b_column, c_row, m, n, k, tiles_down, tiles_across;
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
  const int64_t at = (matrix * p.m + i) * p.c_row + j;
  if (p.bias.data) sum += p.bias.get(j);
  p.c.set(at, p.accumulate ? p.c.get(at) + sum : sum);
}

template <class C>
Elements<C> elements(const Matrices& x) {
  return {static_cast<std::byte*>(x.data), x.dtype};
}

int64_t distance(const Matrices& x) { return x.column == 1 ? x.row : x.column; }

bool begins_on_boundaries(const Matrices& x) {
  return size_of(x.dtype) != 2 ||
         (distance(x) % kAligned == 0 && reinterpret_cast<uintptr_t>(x.data) % 16 == 0);
}

std::byte* element(const Matrices& x, int64_t i) {
  return static_cast<std::byte*>(x.data) + i * size_of(x.dtype);
}

// Copies between matrices of 16 bits of `rows` rows that lie from_row and to_row apart; a block has
// a piece of one row.
__global__ void copy_rows_kernel(const uint16_t* from, int64_t from_row, uint16_t* to,
                                 int64_t to_row, int64_t columns, int64_t blocks) {
  const int64_t row = blockIdx.x / blocks, start = blockIdx.x % blocks * blockDim.x * kPack;
  const int64_t i = start + threadIdx.x * kPack;
  if (i >= columns) return;
  write_pack(read_pack(from + row * from_row, i, columns), to + row * to_row, i, columns);
}
void copy_rows(const void* from, int64_t from_row, void* to, int64_t to_row, int64_t rows,
               int64_t columns) {
  const int64_t blocks = (packs_in(columns) + kThreads - 1) / kThreads;
  if (rows * blocks == 0) return;
  launch(copy_rows_kernel, rows * blocks, kThreads, static_cast<const uint16_t*>(from), from_row,
         static_cast<uint16_t*>(to), to_row, columns, blocks);
}

void product_by_kernel(const Product& p) {
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
                                      .c_row = p.c.row,
                                      .m = p.m,
                                      .n = p.n,
                                      .k = p.k,
                                      .tiles_down = tiles_down,
                                      .tiles_across = tiles_across,
                                      .accumulate = p.accumulate};
    launch(product_kernel<C>, tiles, kThreads, operands);
  });
}

void product_at_once(const Product& p, std::span<std::byte> workspace) {
  if (!product_by_library || !product_by_library(p, workspace)) product_by_kernel(p);
}

// Rows `first` to first + m - 1 of it.
Product rows_of(Product p, int64_t first, int64_t m) {
  p.m = m;
  p.a.data = element(p.a, first * p.a.row);
  p.c.data = element(p.c, first * p.c.row);
  return p;
}

// Where sizes are no multiples of kAligned, what is left of each axis by itself: for odd sizes
// cuBLAS has slow algorithms alone. What is left of k goes first, so that the sum of the others is
// added to it before it is rounded for the last time.
void product_in_parts(Product p, std::span<std::byte> workspace) {
  const auto rest = [](int64_t n) { return n > kAligned ? n % kAligned : 0; };
  if (const int64_t n = rest(p.k); n > 0) {
    Product part = p;
    part.k = n;
    p.k -= n;
    part.a.data = element(p.a, p.k * p.a.column);
    part.b.data = element(p.b, p.k * p.b.row);
    part.bias = nullptr;
    product_at_once(part, workspace);
    p.accumulate = true;
  }
  if (const int64_t n = rest(p.n); n > 0) {
    Product part = p;
    part.n = n;
    p.n -= n;
    part.b.data = element(p.b, p.n * p.b.column);
    part.c.data = element(p.c, p.n);
    View bias;
    if (p.bias) {
      bias = *p.bias;
      bias.data = bias.as<std::byte>() + p.n * size_of(bias.dtype());
      part.bias = &bias;
    }
    product_at_once(part, workspace);
  }
  if (const int64_t n = rest(p.m); n > 0) {
    p.m -= n;
    product_at_once(rows_of(p, p.m, n), workspace);
  }
  product_at_once(p, workspace);
}

// With a or c, `most` rows of m at a time, in rows of `padded` that begin on boundaries.
void product_in_pieces(const Product& p, int64_t most, std::byte* padded,
                       std::span<std::byte> workspace) {
  const bool pads_a = !begins_on_boundaries(p.a), turned = pads_a && p.a.column != 1;
  for (int64_t first = 0; first < p.m; first += most) {
    Product piece = rows_of(p, first, std::min(most, p.m - first));
    void* const rows_of_c = piece.c.data;
    const int64_t pitch = up_to_aligned(turned ? piece.m : (pads_a ? p.k : p.n));
    if (turned) {  // the columns of a lie in rows
      copy_rows(piece.a.data, p.a.column, padded, pitch, p.k, piece.m);
      piece.a = {padded, p.a.dtype, 1, pitch, p.a.batch};
    } else if (pads_a) {
      copy_rows(piece.a.data, p.a.row, padded, pitch, piece.m, p.k);
      piece.a = {padded, p.a.dtype, pitch, 1, p.a.batch};
    } else {
      piece.c = {padded, p.c.dtype, pitch, 1};
    }
    product_in_parts(piece, workspace);
    if (!pads_a) copy_rows(padded, pitch, rows_of_c, p.c.row, piece.m, p.n);
  }
}

}  // namespace

void product(const Product& p, std::span<std::byte> workspace) {
  const auto library = static_cast<size_t>(std::min(std::ssize(workspace), kLibraryBytes));
  const std::span<std::byte> scratch = workspace.first(library);
  const std::span<std::byte> padded = workspace.subspan(library);
  if (size_of(p.a.dtype) != 2 || count(p.batch) != 1 || !is_large(1, p.m, p.n, p.k))
    return product_at_once(p, scratch);
  const bool pads_a = !begins_on_boundaries(p.a), pads_b = !begins_on_boundaries(p.b);
  const bool pads_c = !begins_on_boundaries(p.c), turned = pads_a && p.a.column != 1;
  if (!pads_a && !pads_b && !pads_c) return product_in_parts(p, scratch);
  const int64_t length = up_to_aligned(pads_a ? p.k : p.n);
  const int64_t most = std::ssize(padded) / 2 / length / kAligned * kAligned;
  const bool possible = most > 0 && cuts(p.m, p.n, p.k) && pads_a != pads_c && !pads_b &&
                        (!turned || p.a.row == 1) && !(pads_c && p.accumulate);
  if (!possible) return product_at_once(p, scratch);
  product_in_pieces(p, std::min(most, up_to_aligned(p.m)), padded.data(), scratch);
}

}  // namespace plimsoll::cuda
