#include "core/cpu/vector.h"
#include "ops/attention/attention/gradients.h"

namespace plimsoll::attention_detail {
namespace {

template <class T>
struct Area {
  using C = Compute<T>;
  Known<C> known;  // of all heads of queries that share their keys, one after the other
  Turned<C> turned;
  C* dq;                  // [group, T, D], of the same heads
  C *p, *ds, *slope;      // [keys, kQueries]
  C *q_lanes, *dy_lanes;  // [D, kQueries] and [E, kQueries] of a block
  C *dk, *dv;             // [keys, D] and [keys, E] of a block
  C *q, *k, *v, *dy;      // 16-bit types only: widened blocks

  Area(BumpAllocator& scratch, const Sizes& sizes)
      : known(scratch, sizes.group() * lanes(sizes.queries)), turned(scratch, sizes) {
    const int64_t nq = std::min(kQueries, sizes.queries), nk = std::min(kKeys, sizes.keys);
    const int64_t d = sizes.features, e = sizes.values, wide = std::is_same_v<T, C> ? 0 : 1;
    dq = scratch.take<C>(sizes.group() * sizes.queries * d);
    const int64_t block = elements_of_block(sizes);
    p = scratch.take<C>(block);
    ds = scratch.take<C>(block);
    slope = scratch.take<C>(sizes.attrs.softcap > 0 ? block : 0);
    q_lanes = scratch.take<C>(d * kQueries);
    dy_lanes = scratch.take<C>(e * kQueries);
    dk = scratch.take<C>(nk * d);
    dv = scratch.take<C>(nk * e);
    q = scratch.take<C>(wide * nq * d);
    k = scratch.take<C>(wide * nk * d);
    v = scratch.take<C>(wide * nk * e);
    dy = scratch.take<C>(wide * nq * e);
  }
};

// Rounds n rows into rows first ... of head h of a result [B, L, H, D].
template <class T>
void write(const Compute<T>* from, const View& to, int64_t b, int64_t h, int64_t first, int64_t n) {
  const int64_t d = to.shape()[3];
  for (int64_t r = 0; r < n; ++r) {
    T* row = row_start<T>(to, b, h, first + r);
#pragma omp simd
    for (int64_t e = 0; e < d; ++e) row[e] = narrow<T>(from[r * d + e]);
  }
}

// A block of keys, j ... j + m - 1, of one head of keys.
template <class T>
struct Keys {
  Rows<T> k, v;
  int64_t j, m;
};

// One head of queries of batch b; dq and what is known of it are its own, the rest of the area is
// shared.
template <class T>
class Head {
  using C = Compute<T>;

 public:
  Head(const Call& call, const Sizes& sizes, const Extras& extras, const Area<T>& area, int64_t b,
       int64_t h)
      : call_(call),
        sizes_(sizes),
        extras_(extras),
        area_(area),
        b_(b),
        h_(h),
        known_(area.known.from(h % sizes.group() * lanes(sizes.queries))),
        dq_(area.dq + h % sizes.group() * sizes.queries * sizes.features),
        scores_(sizes, extras, b, h),
        scale_(static_cast<C>(sizes.attrs.scale)) {}

  void start() const {
    known_.template fill<T>(call_, sizes_, extras_, b_, h_, 0, sizes_.queries);
    std::fill_n(dq_, sizes_.queries * sizes_.features, C(0));
  }

  // Adds what a block of keys and all queries that see any of them have to do with each other.
  void add(const Keys<T>& keys) const {
    const int64_t last = keys.j + keys.m - 1;
    const int64_t end = std::min(sizes_.end_query(last), scores_.segments().queries_until(last));
    for (int64_t i = first_block(keys) * kQueries; i < end; i += kQueries)
      add(keys, i, std::min(kQueries, sizes_.queries - i));
  }

  void finish() const { write<T>(dq_, call_.out[0], b_, h_, 0, sizes_.queries); }

 private:
  // Of queries that see any of the keys.
  int64_t first_block(const Keys<T>& keys) const {
    return std::max(sizes_.first_query(keys.j), scores_.segments().first_query(keys.j)) / kQueries;
  }

  void add(const Keys<T>& keys, int64_t i, int64_t n) const {
    const int64_t d = sizes_.features, e = sizes_.values;
    const int64_t seen =  // by the last query, if not by all
        std::min(sizes_.seen(i + n - 1), scores_.segments().keys_until(i + n - 1));
    const int64_t m = std::min(keys.m, seen - keys.j);
    if (m <= 0) return;
    const Rows<T> q = head_rows<T>(call_.in[0], b_, h_, i, n, area_.q);
    const Rows<T> dy = head_rows<T>(call_.in[5], b_, h_, i, n, area_.dy);
    C *const p = area_.p, *const ds = area_.ds;
    // Meanwhile the next queries are prefetched, and a share of what is written at the end.
    const int64_t next = i + kQueries, more = std::min(kQueries, sizes_.queries - next);
    const int64_t first = first_block(keys), shares = pieces(sizes_.queries, kQueries) - first;
    const auto share = [&](const View& x) {
      return rows_ahead<T>(x, b_, h_ / sizes_.group(), keys.j, keys.m, i / kQueries - first,
                           shares);
    };
    const int64_t lanes = lanes_to_multiply<T>(n);
    multiply_block<T>(m, lanes, d, keys.k.matrix(), lanes_of(q, n, d, area_.q_lanes), p, kQueries,
                      Store::overwrite, rows_ahead<T>(call_.in[0], b_, h_, next, more));
    multiply_block<T>(m, lanes, e, keys.v.matrix(), lanes_of(dy, n, e, area_.dy_lanes), ds,
                      kQueries, Store::overwrite, rows_ahead<T>(call_.in[5], b_, h_, next, more));
    differentiate<T>(scores_, {i, n, keys.j, m}, known_.from(i), p, ds, area_.slope, area_.turned,
                     scale_);
    if (scores_.caps()) {
#pragma omp simd
      for (int64_t c = 0; c < m * kQueries; ++c) ds[c] *= area_.slope[c];
    }
    const MatrixRef<C> by_key{ds, kQueries, 1}, by_query{ds, 1, kQueries};
    multiply_block<T>(m, e, n, MatrixRef<C>{p, kQueries, 1}, dy.matrix(), area_.dv, e,
                      Store::accumulate, share(call_.out[2]));
    multiply_block<T>(m, d, n, by_key, q.matrix(), area_.dk, d, Store::accumulate,
                      share(call_.out[1]));
    multiply_block<T>(n, d, m, by_query, keys.k.matrix(), dq_ + i * d, d, Store::accumulate,
                      rows_ahead<T>(call_.out[0], b_, h_, i, n));
  }

  const Call& call_;
  const Sizes& sizes_;
  const Extras& extras_;
  const Area<T>& area_;
  int64_t b_, h_;
  Known<C> known_;
  C* dq_;  // [T, D]
  Scores<T> scores_;
  C scale_;
};

// One head of keys of batch b, and all heads of queries that share it.
template <class T>
void group(const Call& call, const Sizes& sizes, const Extras& extras, const Area<T>& area,
           int64_t b, int64_t shared) {
  using C = Compute<T>;
  const int64_t d = sizes.features, e = sizes.values;
  const auto each_head = [&](const auto& f) {
    for (int64_t h = shared * sizes.group(); h < (shared + 1) * sizes.group(); ++h)
      f(Head<T>(call, sizes, extras, area, b, h));
  };
  each_head([](const Head<T>& head) { head.start(); });
  for (int64_t j = 0; j < sizes.keys; j += kKeys) {
    const int64_t m = std::min(kKeys, sizes.keys - j);
    const Keys<T> keys{head_rows<T>(call.in[1], b, shared, j, m, area.k),
                       head_rows<T>(call.in[2], b, shared, j, m, area.v), j, m};
    std::fill_n(area.dk, m * d, C(0));
    std::fill_n(area.dv, m * e, C(0));
    each_head([&](const Head<T>& head) { head.add(keys); });
    write<T>(area.dk, call.out[1], b, shared, j, m);
    write<T>(area.dv, call.out[2], b, shared, j, m);
  }
  each_head([](const Head<T>& head) { head.finish(); });
}

}  // namespace

int64_t backward_workspace(const Sizes& sizes, DType dtype) {
  return visit_floating("attention_grad", dtype, [&]<class T>() {
    return slots_bytes(sizes.batch * sizes.kv_heads, area_bytes<Area<T>>(sizes));
  });
}

void backward(const Call& call, const Sizes& sizes, const Extras& extras) {
  visit_floating("attention_grad", call.out[0].dtype(), [&]<class T>() {
    const int64_t items = sizes.batch * sizes.kv_heads;
    for_each_with_slot(
        items, call.workspace, area_bytes<Area<T>>(sizes), [&](int64_t item, std::byte* slot) {
          BumpAllocator scratch(slot);
          const Area<T> area(scratch, sizes);
          group<T>(call, sizes, extras, area, item / sizes.kv_heads, item % sizes.kv_heads);
        });
  });
}

}  // namespace plimsoll::attention_detail
