
#include "ops/attention/scores.h"

namespace plimsoll::attention_detail {
namespace {

template <class T>
struct Area {
  using C = Compute<T>;
  C *scores, *sum, *highest, *total;  // [queries, keys], [queries, E], [queries], [queries]
  C *q, *k, *v;                       // 16-bit types only: widened blocks

  Area(Scratch& scratch, const Sizes& sizes) {
    const int64_t nq = std::min(kQueries, sizes.queries), nk = std::min(kKeys, sizes.keys);
    const int64_t wide = std::is_same_v<T, C> ? 0 : 1;
    scores = scratch.take<C>(nq * nk);
    sum = scratch.take<C>(nq * sizes.values);
    highest = scratch.take<C>(nq);
    total = scratch.take<C>(nq);
    q = scratch.take<C>(wide * nq * sizes.features);
    k = scratch.take<C>(wide * nk * sizes.features);
    v = scratch.take<C>(wide * nk * sizes.values);
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

// Raw scores [n, m] of queries i ... and keys j ... become the weights of the values.
template <class T>
void block_weights(const Scores<T>& scores, const Sizes& sizes, const Area<T>& area, int64_t i,
                   int64_t n, int64_t j, int64_t m) {
  using C = Compute<T>;
  const C scale = scores.plain() ? static_cast<C>(sizes.attrs.scale) : C(1);
  for (int64_t r = 0; r < n; ++r) {
    C* s = area.scores + r * m;
    const int64_t seen = std::clamp<int64_t>(sizes.seen(i + r) - j, 0, m);
    if (!scores.plain()) scores.finish(s, i + r, j, seen);
    add_scores(s, m, seen, scale, area.highest[r], area.total[r], area.sum + r * sizes.values,
               sizes.values);
    if (!scores.drops()) continue;
    C factor[kKeys];
    scores.draw(factor, i + r, j, seen);
#pragma omp simd
    for (int64_t c = 0; c < seen; ++c) s[c] *= factor[c];
  }
}

// The queries first ... first + n - 1 of one head.
template <class T>
void query_block(const Call& call, const Sizes& sizes, const Extras& extras, const Area<T>& area,
                 int64_t b, int64_t h, int64_t first) {
  using C = Compute<T>;
  const int64_t e = sizes.values, n = std::min(kQueries, sizes.queries - first);
  const int64_t shared = h / sizes.group();
  const Scores<T> scores(sizes, extras, b, h);
  const Rows<C> q = head_rows<T>(call.in[0], b, h, first, n, area.q);
  std::fill_n(area.sum, n * e, C(0));
  std::fill_n(area.highest, n, -std::numeric_limits<C>::infinity());
  std::fill_n(area.total, n, C(0));
  const int64_t keys = sizes.seen(first + n - 1);  // what lies beyond is masked for the whole block
  for (int64_t j = 0; j < keys; j += kKeys) {
    const int64_t m = std::min(kKeys, keys - j);
    const Rows<C> k = head_rows<T>(call.in[1], b, shared, j, m, area.k);
    const Rows<C> v = head_rows<T>(call.in[2], b, shared, j, m, area.v);
    gemm<C>(n, m, sizes.features, q.matrix(), k.transposed(), area.scores, m);
    block_weights(scores, sizes, area, first, n, j, m);
    gemm<C>(n, e, m, {area.scores, m, 1}, v.matrix(), area.sum, e, Store::accumulate);
  }
  C* log_sum_exp = call.out[1].as<C>() + (b * sizes.heads + h) * sizes.queries + first;
  for (int64_t r = 0; r < n; ++r) {
    const bool any = area.total[r] != 0;  // the highest score alone adds 1
    const C inverse = any ? 1 / area.total[r] : C(0);
    log_sum_exp[r] =
        any ? area.highest[r] + std::log(area.total[r]) : -std::numeric_limits<C>::infinity();
    T* out = row_start<T>(call.out[0], b, h, first + r);
    for (int64_t i = 0; i < e; ++i) out[i] = static_cast<T>(area.sum[r * e + i] * inverse);
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

void forward(const Call& call, const Sizes& sizes, const Extras& extras) {
  visit_floating("attention", call.out[0].dtype(), [&]<class T>() {
    const int64_t bytes = area_bytes<T>(sizes), blocks = blocks_of(sizes);
    const int64_t items = sizes.batch * sizes.heads * blocks;
    for_each_with_slot(items, call.workspace, bytes, [&](int64_t item, std::byte* slot) {
      Scratch scratch(slot);
      const Area<T> area(scratch, sizes);
      const int64_t head = item / blocks;
      query_block<T>(call, sizes, extras, area, head / sizes.heads, head % sizes.heads,
                     item % blocks * kQueries);
    });
  });
}

}  // namespace plimsoll::attention_detail
