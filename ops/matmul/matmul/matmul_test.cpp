#include "ops/matmul/matmul/matmul.h"

#include "ops/random/full/full.h"
#include "ops/shape/view/view.h"
#include "tests/support/broadcast_reference.h"

namespace plimsoll {
namespace {

std::vector<Array> product(const std::vector<Array>& in) {
  const Array &a = in[0], &b = in[1];
  const int rank_a = a.shape.rank(), rank_b = b.shape.rank();
  const int64_t m = a.shape[rank_a - 2], k = a.shape.back(), n = b.shape.back();
  const Shape batches = broadcast("reference", Shape(std::span(a.shape.begin(), rank_a - 2)),
                                  Shape(std::span(b.shape.begin(), rank_b - 2)));
  const auto matrices = [&](int64_t rows, int64_t columns) {
    Shape shape = batches;
    shape.push_back(rows);
    shape.push_back(columns);
    return shape;
  };
  const Shape all_a = matrices(m, k), all_b = matrices(k, n);
  Array y(matrices(m, n));
  for (int64_t i = 0; i < count(y.shape); ++i)
    for (int64_t j = 0; j < k; ++j)
      y[i] += broadcast_at(a, all_a, i / n * k + j) *
              broadcast_at(b, all_b, (i / n / m * k + j) * n + i % n);
  return {y};
}

OpCase multiplies(const char* name, Shape a, Shape b) {
  return {.name = name,
          .inputs = {real(a), real(b)},
          .call = [](auto in) { return std::vector{matmul(in[0], in[1])}; },
          .reference = product};
}

// Sizes beyond one panel of the kernel; too big for finite differences.
OpCase big(const char* name, Shape a, Shape b) {
  OpCase c = multiplies(name, a, b);
  c.differentiable = false;
  return c;
}

Array transposed(const Array& x) {
  const int rank = x.shape.rank();
  const int64_t m = x.shape[rank - 2], n = x.shape[rank - 1];
  Array y(x.shape);
  std::swap(y.shape[rank - 2], y.shape[rank - 1]);
  for (int64_t i = 0; i < count(x.shape); ++i)
    y[i / (m * n) * m * n + i % n * m + i / n % m] = x[i];
  return y;
}

// Operands stored as their transposes and read where they are.
OpCase of_views(const char* name, Shape a, Shape b, bool turn_a, bool turn_b) {
  OpCase c = multiplies(name, a, b);
  c.call = [=](auto in) {
    return std::vector{
        matmul(turn_a ? transpose(in[0]) : in[0], turn_b ? transpose(in[1]) : in[1])};
  };
  c.reference = [=](const std::vector<Array>& in) {
    return product({turn_a ? transposed(in[0]) : in[0], turn_b ? transposed(in[1]) : in[1]});
  };
  return c;
}

// Every row, and then every element, is the same memory: strides of 0.
OpCase of_expanded(const char* name, Shape from, Shape to) {
  OpCase c = multiplies(name, from, {3, 2});
  c.call = [to](auto in) { return std::vector{matmul(expand(in[0], to), in[1])}; };
  c.reference = [to](const std::vector<Array>& in) {
    Array a(to);
    for (int64_t i = 0; i < count(to); ++i) a[i] = in[0][i % count(in[0].shape)];
    return product({a, in[1]});
  };
  return c;
}

// A head of [B, T, H, D] as attention cuts it: strided batches without a copy.
OpCase of_heads() {
  OpCase c = multiplies("heads", {2, 3, 2, 4}, {2, 5, 2, 4});
  c.call = [](auto in) {
    return std::vector{matmul(permute(in[0], {0, 2, 1, 3}), permute(in[1], {0, 2, 3, 1}))};
  };
  c.reference = [](const std::vector<Array>& in) {
    Array y({2, 2, 3, 5});
    for (int64_t b = 0; b < 2; ++b)
      for (int64_t h = 0; h < 2; ++h)
        for (int64_t t = 0; t < 3; ++t)
          for (int64_t s = 0; s < 5; ++s)
            for (int64_t d = 0; d < 4; ++d)
              y[((b * 2 + h) * 3 + t) * 5 + s] +=
                  in[0][((b * 3 + t) * 2 + h) * 4 + d] * in[1][((b * 5 + s) * 2 + h) * 4 + d];
    return std::vector{y};
  };
  return c;
}

}  // namespace

OpCases matmul_cases() {
  return {
      .good = {multiplies("plain", {3, 4}, {4, 5}),
               multiplies("batched", {2, 3, 4}, {2, 4, 2}),
               multiplies("shared_right", {2, 3, 4}, {4, 5}),
               multiplies("shared_right_two_axes", {2, 2, 3, 4}, {4, 2}),
               multiplies("shared_left", {3, 4}, {2, 4, 2}),
               multiplies("broadcast_both", {2, 1, 2, 3}, {1, 3, 3, 2}),
               multiplies("broadcast_ranks", {3, 1, 2, 2}, {2, 2, 3}),
               multiplies("ones", {1, 1}, {1, 1}),
               multiplies("row", {1, 5}, {5, 3}),
               multiplies("column", {5, 3}, {3, 1}),
               multiplies("outer", {4, 1}, {1, 3}),
               multiplies("inner", {1, 7}, {7, 1}),
               multiplies("no_rows", {0, 3}, {3, 2}),
               multiplies("no_columns", {2, 3}, {3, 0}),
               multiplies("no_batch", {0, 2, 3}, {3, 2}),
               multiplies("k_is_0", {2, 0}, {0, 3}),
               multiplies("k_is_0_batched", {2, 2, 0}, {0, 3}),
               of_views("left_turned", {4, 3}, {4, 5}, true, false),
               of_views("right_turned", {3, 4}, {5, 4}, false, true),
               of_views("both_turned", {2, 4, 3}, {2, 5, 4}, true, true),
               of_views("right_turned_shared", {2, 3, 4}, {5, 4}, false, true),
               of_views("left_turned_shared", {2, 4, 3}, {4, 5}, true, false),
               of_views("column_turned", {1, 4}, {1, 5}, true, false),
               of_heads(),
               of_expanded("expanded_rows", {1, 3}, {4, 3}),
               of_expanded("expanded_batch", {2, 3}, {2, 2, 3}),
               of_expanded("expanded_all", {}, {2, 3}),
               big("panels_of_rows", {530, 70}, {70, 45}),
               big("panels_of_columns", {33, 70}, {70, 517}),
               big("long_k", {3, 3000}, {3000, 2}),
               big("many", {70, 5, 6}, {70, 6, 7})},
      .bad = {
          {"inner",
           [] {
             matmul(ones({2, 3}), ones({4, 2}));
           },
           "matmul: the inner sizes differ: [2, 3] and [4, 2]. The last axis of the first must "
           "equal "
           "the last but one of the second."},
          {"vector",
           [] {
             matmul(ones({3}), ones({3, 2}));
           },
           "matmul: matrices are needed: got [3] and [3, 2]. Reshape vectors to have a size of 1."},
          {"scalar",
           [] {
             matmul(ones({2, 3}), ones({}));
           },
           "matmul: matrices are needed: got [2, 3] and []. Reshape vectors to have a size of 1."},
          {"batches",
           [] {
             matmul(ones({2, 3, 3}), ones({4, 3, 3}));
           },
           "matmul: the shapes do not broadcast: [2] and [4]. Sizes must be equal or 1, aligned at "
           "the last axis."},
          {"types",
           [] {
             matmul(ones({2, 2}), ones({2, 2}, {.dtype = DType::f64}));
           },
           "matmul: two tensors of one floating type are needed: got f32 and f64. Cast one of "
           "them."},
          {"integers",
           [] {
             const Tensor x = ones({2, 2}, {.dtype = DType::i32});
             matmul(x, x);
           },
           "matmul: two tensors of one floating type are needed: got i32 and i32. Cast one of "
           "them."},
          {"undefined",
           [] {
             matmul(ones({2, 2}), Tensor());
           },
           "matmul: input 1 is undefined. Pass a tensor that was computed."}}};
}

}  // namespace plimsoll
