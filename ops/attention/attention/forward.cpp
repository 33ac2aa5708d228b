#include "ops/attention/attention/scores.h"

namespace plimsoll::attention_detail {
namespace {

constexpr int64_t kBlocks = 4;  // of queries of a unit of work: they share blocks of keys
constexpr int64_t kSpan = kBlocks * kQueries;

// Of a block of queries, all in lanes: q, unless it is multiplied as it is stored, what was summed
// so far, and each query's highest score and sum of exponentials.
template <class C>
struct Queries {
  C *q, *sum, *highest, *total;  // [D, kQueries], [E, kQueries], [kQueries], [kQueries]

  Queries(BumpAllocator& scratch, const Sizes& sizes, int64_t block) {
    const int64_t lanes = block * kQueries < sizes.queries ? kQueries : 0;
    q = scratch.take<C>(sizes.features * lanes);
    sum = scratch.take<C>(sizes.values * lanes);
    highest = scratch.take<C>(lanes);
    total = scratch.take<C>(lanes);
  }
};

template <class T>
struct Area {
  using C = Compute<T>;
  C* scores;  // [keys, kQueries]
  Turned<C> turned;
  std::array<Queries<C>, kBlocks> queries;
  C *k, *v, *row;  // 16-bit types only: widened blocks, and rows of queries or of the result

  Area(BumpAllocator& scratch, const Sizes& sizes)
      : scores(scratch.take<C>(elements_of_block(sizes))),
        turned(scratch, sizes),
        queries{Queries<C>(scratch, sizes, 0), Queries<C>(scratch, sizes, 1),
                Queries<C>(scratch, sizes, 2), Queries<C>(scratch, sizes, 3)} {
    const int64_t wide = std::is_same_v<T, C> ? 0 : 1, keys = std::min(kKeys, sizes.keys);
    k = scratch.take<C>(wide * keys * sizes.features);
    v = scratch.take<C>(wide * keys * sizes.values);
    row = scratch.take<C>(wide * kQueries * std::max(sizes.features, sizes.values));
  }
};

// A span of queries of head h of batch b; the area is its own.
template <class T>
class Span {
  using C = Compute<T>;
  static constexpr C kLowest = -std::numeric_limits<C>::infinity();

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
        end_(std::min(first + kSpan, sizes.queries)) {}

  void run() const {
    for_each_block([&](const Queries<C>& queries, int64_t i, int64_t n) { start(queries, i, n); });
    // What lies before and beyond no query sees.
    const Segments& segments = scores_.segments();
    const int64_t seen = std::min(sizes_.seen(end_ - 1), segments.keys_until(end_ - 1));
    const int64_t first =
        std::max(sizes_.first_seen(first_), segments.first_key(first_)) / kKeys * kKeys;
    for (int64_t j = first; j < seen; j += kKeys) add_keys(j, std::min(kKeys, seen - j), seen);
    for_each_block([&](const Queries<C>& queries, int64_t i, int64_t n) { write(queries, i, n); });
  }

 private:
  template <class F>
  void for_each_block(const F& f) const {
    for (int64_t i = first_; i < end_; i += kQueries)
      f(area_.queries[static_cast<size_t>((i - first_) / kQueries)], i,
        std::min(kQueries, end_ - i));
  }

  void start(const Queries<C>& queries, int64_t i, int64_t n) const {
    lanes_of(head_rows<T>(call_.in[0], b_, h_, i, n, area_.row), n, sizes_.features, queries.q);
    std::fill_n(queries.sum, sizes_.values * kQueries, C(0));
    std::fill_n(queries.highest, kQueries, kLowest);
    std::fill_n(queries.total, kQueries, C(0));
  }

  void add_keys(int64_t j, int64_t m, int64_t seen) const {
    const int64_t d = sizes_.features, e = sizes_.values, shared = h_ / sizes_.group();
    const Rows<T> k = head_rows<T>(call_.in[1], b_, shared, j, m, area_.k);
    const Rows<T> v = head_rows<T>(call_.in[2], b_, shared, j, m, area_.v);
    for_each_block([&](const Queries<C>& queries, int64_t i, int64_t n) {
      const Segments& segments = scores_.segments();
      const int64_t until = std::min(sizes_.seen(i + n - 1), segments.keys_until(i + n - 1));
      const Block block{i, n, j, std::min(m, until - j)};
      if (block.m <= 0 || j + m <= std::max(sizes_.first_seen(i), segments.first_key(i))) return;
      // Meanwhile a share of the next keys and values is prefetched, or of the result.
      const int64_t shares = pieces(end_ - first_, kQueries), share = (i - first_) / kQueries;
      const auto next = [&](const View& x) {
        return rows_ahead<T>(x, b_, shared, j + m, std::min(kKeys, seen - j - m), share, shares);
      };
      C* const s = area_.scores;
      const Operand<T> q{{row_start<T>(call_.in[0], b_, h_, i), 1, call_.in[0].strides[1]},
                         {queries.q, kQueries, 1}};
      const int64_t lanes = lanes_to_multiply<T>(n);
      multiply_block<T>(block.m, lanes, d, k.matrix(), q, s, kQueries, Store::overwrite,
                        next(call_.in[1]));
      weigh(block, queries);
      multiply_block<T>(
          e, lanes, block.m, v.transposed(), MatrixRef<C>{s, kQueries, 1}, queries.sum, kQueries,
          Store::accumulate,
          j + m < seen ? next(call_.in[2]) : rows_ahead<T>(call_.out[0], b_, h_, i, n));
    });
  }

  // Raw scores become weights of the values. Online softmax (Milakov and Gimelshein, arXiv
  // 1805.02867): what was summed so far, relative to an earlier maximum, is brought to the new one.
  void weigh(const Block& block, const Queries<C>& queries) const {
    const C factor = scores_.factor();
    C* const s = area_.scores;
    scores_.finish(block, s, area_.turned);
    C highest[kQueries], base[kQueries], shrink[kQueries], sum[kQueries];
    combine_keys(s, block.m, kLowest, highest, [](auto x, auto y) { return y > x ? y : x; });
#pragma omp simd
    for (int64_t l = 0; l < kQueries; ++l) {
      const C old = queries.highest[l], both = highest[l] > old ? highest[l] : old;
      base[l] = both > kLowest ? both : C(0);  // what can be subtracted
      shrink[l] = math::exp_of_negative((old - base[l]) * factor);
      queries.highest[l] = both;
    }
    for (int64_t c = 0; c < block.m; ++c) {
      C* row = s + c * kQueries;
#pragma omp simd
      for (int64_t l = 0; l < kQueries; ++l)
        row[l] = math::exp_of_negative((row[l] - base[l]) * factor);
    }
    combine_keys(s, block.m, C(0), sum, [](auto x, auto y) { return x + y; });
#pragma omp simd
    for (int64_t l = 0; l < kQueries; ++l) queries.total[l] = queries.total[l] * shrink[l] + sum[l];
    if (scores_.drops()) drop(block);
    if (block.j > 0) scale(queries.sum, shrink);
  }

  void drop(const Block& block) const {
    scores_.draw(block, area_.turned);
#pragma omp simd
    for (int64_t e = 0; e < block.m * kQueries; ++e) area_.scores[e] *= area_.turned.lanes[e];
  }

  // sum [E, kQueries] times `by` [kQueries].
  void scale(C* sum, const C* by) const {
    for (int64_t e = 0; e < sizes_.values; ++e, sum += kQueries) {
#pragma omp simd
      for (int64_t l = 0; l < kQueries; ++l) sum[l] *= by[l];
    }
  }

  void write(const Queries<C>& queries, int64_t i, int64_t n) const {
    const int64_t e = sizes_.values, row = (b_ * sizes_.heads + h_) * sizes_.queries + i;
    const C factor = scores_.factor();
    C inverse[kQueries], highest[kQueries], log_total[kQueries];
#pragma omp simd
    for (int64_t l = 0; l < kQueries; ++l) {
      const C total = queries.total[l];
      const bool any = total != 0;  // the highest score alone adds 1
      inverse[l] = 1 / (any ? total : C(1));
      highest[l] = any ? queries.highest[l] : C(0);
      log_total[l] = math::log(total);
    }
    C* const log_sum_exp = call_.out[1].as<C>() + row;
    auto* const softmax = reinterpret_cast<Softmax<C>*>(call_.out[2].as<C>()) + row;
    for (int64_t l = 0; l < n; ++l) {
      log_sum_exp[l] = highest[l] * factor + log_total[l];
      softmax[l] = {highest[l], log_total[l]};
    }
    scale(queries.sum, inverse);
    T* out = row_start<T>(call_.out[0], b_, h_, i);
    const int64_t stride = call_.out[0].strides[1];
    if constexpr (std::is_same_v<T, C>) {
      transpose(queries.sum, kQueries, e, n, out, stride);
    } else {
      transpose(queries.sum, kQueries, e, n, area_.row, e);
      for (int64_t r = 0; r < n; ++r)
        for (int64_t c = 0; c < e; ++c) out[r * stride + c] = static_cast<T>(area_.row[r * e + c]);
    }
  }

  const Call& call_;
  const Sizes& sizes_;
  const Area<T>& area_;
  Scores<T> scores_;
  int64_t b_, h_, first_, end_;
};

int64_t spans_of(const Sizes& sizes) { return pieces(sizes.queries, kSpan); }

}  // namespace

int64_t forward_workspace(const Sizes& sizes, DType dtype) {
  if (is_one_query(sizes)) return one_query_workspace(sizes, dtype);
  const int64_t items = sizes.batch * sizes.heads * spans_of(sizes);
  return visit_floating("attention", dtype,
                        [&]<class T>() { return slots_bytes(items, area_bytes<Area<T>>(sizes)); });
}

void forward(const Call& call, const Sizes& sizes, const Extras& extras) {
  if (is_one_query(sizes)) return forward_one_query(call, sizes);
  visit_floating("attention", call.out[0].dtype(), [&]<class T>() {
    const int64_t bytes = area_bytes<Area<T>>(sizes), spans = spans_of(sizes);
    const int64_t items = sizes.batch * sizes.heads * spans;
    for_each_with_slot(items, call.workspace, bytes, [&](int64_t item, std::byte* slot) {
      BumpAllocator scratch(slot);
      const Area<T> area(scratch, sizes);
      const int64_t head = item / spans;
      Span<T>(call, sizes, extras, area, head / sizes.heads, head % sizes.heads,
              item % spans * kSpan)
          .run();
    });
  });
}

}  // namespace plimsoll::attention_detail
