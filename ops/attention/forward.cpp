#include <algorithm>
#include <limits>

#include "core/cpu/math.h"
#include "ops/attention/blocks.h"

namespace plimsoll::attention_detail {
namespace {

template <class T>
struct Area {
  using C = Compute<T>;
  C *scores, *sum, *highest, *total;  // [queries, keys], [queries, D], [queries], [queries]
  C *q, *k, *v;                       // 16-bit types only: widened blocks

  Area(Scratch& scratch, const Sizes& sizes) {
    const int64_t nq = std::min(kQueries, sizes.queries), nk = std::min(kKeys, sizes.keys);
    const int64_t d = sizes.features, wide = std::is_same_v<T, C> ? 0 : d;
    scores = scratch.take<C>(nq * nk);
    sum = scratch.take<C>(nq * d);
    highest = scratch.take<C>(nq);
    total = scratch.take<C>(nq);
    q = scratch.take<C>(nq * wide);
    k = scratch.take<C>(nk * wide);
    v = scratch.take<C>(nk * wide);
  }
};

// Online softmax (Milakov and Gimelshein, arXiv 1805.02867): turns n scores, of which the query
// sees the first `seen`, into exp(scale s - highest), and brings what was summed so far, relative
// to an earlier maximum, to the new one.
template <class C>
void add_scores(C* s, int64_t n, int64_t seen, C scale, C& highest, C& total, C* sum, int64_t d) {
  std::fill(s + seen, s + n, C(0));
  if (seen == 0) return;
  C m = -std::numeric_limits<C>::infinity();
#pragma omp simd reduction(max : m)
  for (int64_t j = 0; j < seen; ++j) m = s[j] > m ? s[j] : m;
  m = std::max(highest, m * scale);  // scale is positive
  if (m == -std::numeric_limits<C>::infinity() &&
      std::none_of(s, s + seen, [](C score) { return score != score; })) {
    std::fill(s, s + seen, C(0));  // there is no maximum yet to subtract
    return;
  }
  C added = 0;
#pragma omp simd reduction(+ : added)
  for (int64_t j = 0; j < seen; ++j) {
    s[j] = math::exp(s[j] * scale - m);
    added += s[j];
  }
  if (m > highest) {
    const C shrink = math::exp(highest - m);
    total *= shrink;
#pragma omp simd
    for (int64_t i = 0; i < d; ++i) sum[i] *= shrink;
    highest = m;
  }
  total += added;
}

// The queries first ... first + n - 1 of one head.
template <class T>
void query_block(const Call& call, const Sizes& sizes, const Area<T>& area, int64_t b, int64_t h,
                 int64_t first) {
  using C = Compute<T>;
  const int64_t d = sizes.features, n = std::min(kQueries, sizes.queries - first);
  const Rows<C> q = head_rows<T>(call.in[0], b, h, first, n, area.q);
  std::fill_n(area.sum, n * d, C(0));
  std::fill_n(area.highest, n, -std::numeric_limits<C>::infinity());
  std::fill_n(area.total, n, C(0));
  const int64_t keys = sizes.seen(first + n - 1);  // what lies beyond is masked for the whole block
  for (int64_t j = 0; j < keys; j += kKeys) {
    const int64_t m = std::min(kKeys, keys - j);
    const Rows<C> k = head_rows<T>(call.in[1], b, h, j, m, area.k);
    const Rows<C> v = head_rows<T>(call.in[2], b, h, j, m, area.v);
    gemm<C>(n, m, d, q.matrix(), k.transposed(), area.scores, m);
    for (int64_t r = 0; r < n; ++r)
      add_scores(area.scores + r * m, m, std::clamp<int64_t>(sizes.seen(first + r) - j, 0, m),
                 static_cast<C>(sizes.scale), area.highest[r], area.total[r], area.sum + r * d, d);
    gemm<C>(n, d, m, {area.scores, m, 1}, v.matrix(), area.sum, d, Store::accumulate);
  }
  C* log_sum_exp = call.out[1].as<C>() + (b * sizes.heads + h) * sizes.queries + first;
  for (int64_t r = 0; r < n; ++r) {
    const bool any = sizes.seen(first + r) > 0;
    const C inverse = any ? 1 / area.total[r] : C(0);
    log_sum_exp[r] =
        any ? area.highest[r] + std::log(area.total[r]) : -std::numeric_limits<C>::infinity();
    T* out = row_start<T>(call.out[0], b, h, first + r);
    for (int64_t i = 0; i < d; ++i) out[i] = static_cast<T>(area.sum[r * d + i] * inverse);
  }
}

int64_t blocks_of(const Sizes& sizes) { return pieces(sizes.queries, kQueries); }

template <class T>
int64_t area_bytes(const Sizes& sizes) {
  Scratch scratch(nullptr);
  Area<T>(scratch, sizes);
  return scratch.used();
}

}  // namespace

int64_t forward_workspace(const Sizes& sizes, DType dtype) {
  const int64_t items = sizes.batch * sizes.heads * blocks_of(sizes);
  return visit_floating("attention", dtype,
                        [&]<class T>() { return slots_bytes(items, area_bytes<T>(sizes)); });
}

void forward(const Call& call, const Sizes& sizes) {
  visit_floating("attention", call.out[0].dtype(), [&]<class T>() {
    const int64_t bytes = area_bytes<T>(sizes), blocks = blocks_of(sizes);
    const int64_t items = sizes.batch * sizes.heads * blocks;
    for_each_with_slot(items, call.workspace, bytes, [&](int64_t item, std::byte* slot) {
      Scratch scratch(slot);
      const Area<T> area(scratch, sizes);
      const int64_t head = item / blocks;
      query_block<T>(call, sizes, area, head / sizes.heads, head % sizes.heads,
                     item % blocks * kQueries);
    });
  });
}

}  // namespace plimsoll::attention_detail
