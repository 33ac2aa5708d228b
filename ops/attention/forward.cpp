#include "core/cpu/reduce.h"
#include "ops/attention/scores.h"

namespace plimsoll::attention_detail {
namespace {

constexpr int64_t kSpan = 4 * kQueries;  // queries of a unit of work: they share columns of keys

template <class T>
struct Area {
  using C = Compute<T>;
  C *scores, *k_columns;     // of a block: [queries, kKeyPitch], [D, kKeyPitch]
  C *sum, *highest, *total;  // of a span: [queries, E], [queries], [queries]
  C *q, *k, *v;              // 16-bit types only: widened blocks

  Area(Scratch& scratch, const Sizes& sizes) {
    const int64_t nq = std::min(kQueries, sizes.queries), nk = std::min(kKeys, sizes.keys);
    const int64_t wide = std::is_same_v<T, C> ? 0 : 1, span = std::min(kSpan, sizes.queries);
    scores = scratch.take<C>(nq * kKeyPitch);
    k_columns = scratch.take<C>(sizes.features * kKeyPitch);
    sum = scratch.take<C>(span * sizes.values);
    highest = scratch.take<C>(span);
    total = scratch.take<C>(span);
    q = scratch.take<C>(wide * nq * sizes.features);
    k = scratch.take<C>(wide * nk * sizes.features);
    v = scratch.take<C>(wide * nk * sizes.values);
  }
};

template <class C>
constexpr C kLowest = -std::numeric_limits<C>::infinity();

// s becomes exp(factor (s - base)); returns the sum.
template <class C>
C exponentials(C* s, int64_t n, C base, C factor) {
#pragma omp simd
  for (int64_t j = 0; j < n; ++j) s[j] = math::exp_of_negative((s[j] - base) * factor);
  return sum_of<C>(n, [&]<class V>(int64_t j) { return load<V>(s + j); });
}

// A span of queries of head h of batch b; the area is its own.
template <class T>
class Span {
  using C = Compute<T>;

 public:
  Span(const Call& call, const Sizes& sizes, const Extras& extras, const Area<T>& area, int64_t b,
       int64_t h, int64_t first)
      : call_(call),
        sizes_(sizes),
        area_(area),
        scores_(sizes, extras, b, h),
        b_(b),
        h_(h),
        first_(first),
        n_(std::min(kSpan, sizes.queries - first)) {}

  void run() const {
    std::fill_n(area_.sum, n_ * sizes_.values, C(0));
    std::fill_n(area_.highest, n_, -std::numeric_limits<C>::infinity());
    std::fill_n(area_.total, n_, C(0));
    const int64_t keys = sizes_.seen(first_ + n_ - 1);  // what lies beyond no query sees
    for (int64_t j = 0; j < keys; j += kKeys) add_keys(j, std::min(kKeys, keys - j));
    for (int64_t r = 0; r < n_; ++r) write(r);
  }

 private:
  void add_keys(int64_t j, int64_t m) const {
    const int64_t d = sizes_.features, e = sizes_.values, shared = h_ / sizes_.group();
    const Rows<C> k = head_rows<T>(call_.in[1], b_, shared, j, m, area_.k);
    const Rows<C> v = head_rows<T>(call_.in[2], b_, shared, j, m, area_.v);
    const MatrixRef<C> k_columns = columns_of(k, m, d, area_.k_columns);
    for (int64_t i = 0; i < n_; i += kQueries) {
      const int64_t n = std::min(kQueries, n_ - i);
      const int64_t own = std::min(m, sizes_.seen(first_ + i + n - 1) - j);
      if (own <= 0) continue;
      const Rows<C> q = head_rows<T>(call_.in[0], b_, h_, first_ + i, n, area_.q);
      gemm<C>(n, own, d, q.matrix(), k_columns, area_.scores, kKeyPitch);
      weigh(i, n, j, own);
      gemm<C>(n, e, own, {area_.scores, kKeyPitch, 1}, v.matrix(), area_.sum + i * e, e,
              Store::accumulate);
    }
  }

  // The scores of n queries from `first` on and m keys from j on become weights of the values.
  // Online softmax (Milakov and Gimelshein, arXiv 1805.02867): what was summed so far, relative to
  // an earlier maximum, is brought to the new one.
  void weigh(int64_t first, int64_t n, int64_t j, int64_t m) const {
    const C factor = scores_.factor();
    C found[kQueries], shrink[kQueries], *highest = area_.highest + first;
    for (int64_t r = 0; r < n; ++r) {
      C* s = area_.scores + r * kKeyPitch;
      const int64_t own = seen(first + r, j, m), width = whole_vectors<C>(own);
      scores_.finish(s, first_ + first + r, j, own);
      std::fill(s + own, s + width, kLowest<C>);
      found[r] = max_of<C>(width, [&]<class V>(int64_t c) { return load<V>(s + c); });
    }
#pragma omp simd
    for (int64_t r = 0; r < n; ++r) {
      const C old = highest[r], both = found[r] > old ? found[r] : old;
      highest[r] = both;
      found[r] = both > kLowest<C> ? both : C(0);  // what can be subtracted
      shrink[r] = math::exp_of_negative((old - found[r]) * factor);
    }
    for (int64_t r = 0; r < n; ++r) {
      C* s = area_.scores + r * kKeyPitch;
      const int64_t own = seen(first + r, j, m), width = whole_vectors<C>(own);
      C& total = area_.total[first + r];
      total = total * shrink[r] + exponentials(s, width, found[r], factor);
      if (width < m) std::fill(s + width, s + m, C(0));
      if (scores_.drops()) drop(s, first_ + first + r, j, own);
      if (shrink[r] != 1) scale(area_.sum + (first + r) * sizes_.values, shrink[r]);
    }
  }

  // How many of the keys j ... j + m - 1 query r sees.
  int64_t seen(int64_t r, int64_t j, int64_t m) const {
    return std::clamp<int64_t>(sizes_.seen(first_ + r) - j, 0, m);
  }

  void drop(C* s, int64_t i, int64_t j, int64_t n) const {
    C kept[kKeys];
    scores_.draw(kept, i, j, n);
#pragma omp simd
    for (int64_t c = 0; c < n; ++c) s[c] *= kept[c];
  }

  void scale(C* sum, C by) const {
#pragma omp simd
    for (int64_t e = 0; e < sizes_.values; ++e) sum[e] *= by;
  }

  void write(int64_t r) const {
    const int64_t e = sizes_.values;
    const bool any = area_.total[r] != 0;  // the highest score alone adds 1
    const C inverse = any ? 1 / area_.total[r] : C(0);
    const int64_t row = (b_ * sizes_.heads + h_) * sizes_.queries + first_ + r;
    const Softmax<C> softmax{any ? area_.highest[r] : C(0), std::log(area_.total[r])};
    call_.out[1].as<C>()[row] = softmax.highest * scores_.factor() + softmax.log_total;
    reinterpret_cast<Softmax<C>*>(call_.out[2].as<C>())[row] = softmax;
    T* out = row_start<T>(call_.out[0], b_, h_, first_ + r);
    for (int64_t i = 0; i < e; ++i) out[i] = static_cast<T>(area_.sum[r * e + i] * inverse);
  }

  const Call& call_;
  const Sizes& sizes_;
  const Area<T>& area_;
  Scores<T> scores_;
  int64_t b_, h_, first_, n_;
};

int64_t spans_of(const Sizes& sizes) { return pieces(sizes.queries, kSpan); }

template <class T>
int64_t area_bytes(const Sizes& sizes) {
  Scratch scratch(nullptr);
  Area<T>(scratch, sizes);
  return scratch.used();
}

}  // namespace

int64_t forward_workspace(const Sizes& sizes, DType dtype) {
  const int64_t items = sizes.batch * sizes.heads * spans_of(sizes);
  return visit_floating("attention", dtype,
                        [&]<class T>() { return slots_bytes(items, area_bytes<T>(sizes)); });
}

void forward(const Call& call, const Sizes& sizes, const Extras& extras) {
  visit_floating("attention", call.out[0].dtype(), [&]<class T>() {
    const int64_t bytes = area_bytes<T>(sizes), spans = spans_of(sizes);
    const int64_t items = sizes.batch * sizes.heads * spans;
    for_each_with_slot(items, call.workspace, bytes, [&](int64_t item, std::byte* slot) {
      Scratch scratch(slot);
      const Area<T> area(scratch, sizes);
      const int64_t head = item / spans;
      Span<T>(call, sizes, extras, area, head / sizes.heads, head % sizes.heads,
              item % spans * kSpan)
          .run();
    });
  });
}

}  // namespace plimsoll::attention_detail
