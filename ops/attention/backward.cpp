#include "ops/attention/gradients.h"

namespace plimsoll::attention_detail {
namespace {

template <class T>
struct Area {
  using C = Compute<T>;
  C *p, *dp;                 // [queries, kKeyPitch] of a block: probabilities, and their gradients
  C *dq, *delta;             // [group, T, D] and [group, T]: of all heads that share their keys
  C *dk, *dv;                // [keys, D] and [keys, E] of a block
  C *k_columns, *v_columns;  // [D, kKeyPitch] and [E, kKeyPitch] of a block
  C *q, *k, *v, *dy;         // 16-bit types only: widened blocks

  Area(Scratch& scratch, const Sizes& sizes) {
    const int64_t nq = std::min(kQueries, sizes.queries), nk = std::min(kKeys, sizes.keys);
    const int64_t d = sizes.features, e = sizes.values, wide = std::is_same_v<T, C> ? 0 : 1;
    p = scratch.take<C>(nq * kKeyPitch);
    dp = scratch.take<C>(nq * kKeyPitch);
    dq = scratch.take<C>(sizes.group() * sizes.queries * d);
    delta = scratch.take<C>(sizes.group() * sizes.queries);
    dk = scratch.take<C>(nk * d);
    dv = scratch.take<C>(nk * e);
    k_columns = scratch.take<C>(d * kKeyPitch);
    v_columns = scratch.take<C>(e * kKeyPitch);
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
    for (int64_t e = 0; e < d; ++e) row[e] = static_cast<T>(from[r * d + e]);
  }
}

// A block of keys, j ... j + m - 1, of one head of keys.
template <class C>
struct Keys {
  Rows<C> k;
  MatrixRef<C> k_columns, v_columns;
  int64_t j, m;
};

// One head of queries of batch b; dq and delta are its own, the rest of the area is shared.
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
        dq_(area.dq + h % sizes.group() * sizes.queries * sizes.features),
        delta_(area.delta + h % sizes.group() * sizes.queries),
        softmax_(softmax_of<C>(call, sizes, b, h)),
        scores_(sizes, extras, b, h),
        plain_(scores_.plain() && !scores_.drops()),
        scale_(static_cast<C>(sizes.attrs.scale)) {}

  void start() const {
    for (int64_t i = 0; i < sizes_.queries; ++i) delta_[i] = delta_of<T>(call_, extras_, b_, h_, i);
    std::fill_n(dq_, sizes_.queries * sizes_.features, C(0));
  }

  // Adds what a block of keys and all queries that see any of them have to do with each other.
  void add(const Keys<C>& keys) const {
    for (int64_t i = sizes_.first_query(keys.j) / kQueries * kQueries; i < sizes_.queries;
         i += kQueries)
      add(keys, i, std::min(kQueries, sizes_.queries - i));
  }

  void finish() const { write<T>(dq_, call_.out[0], b_, h_, 0, sizes_.queries); }

 private:
  void add(const Keys<C>& keys, int64_t i, int64_t n) const {
    const auto& [k, k_columns, v_columns, j, all] = keys;
    const int64_t d = sizes_.features, e = sizes_.values;
    const int64_t m = std::min(all, sizes_.seen(i + n - 1) - j);  // what lies beyond no query sees
    const Rows<C> q = head_rows<T>(call_.in[0], b_, h_, i, n, area_.q);
    const Rows<C> dy = head_rows<T>(call_.in[5], b_, h_, i, n, area_.dy);
    gemm<C>(n, m, d, q.matrix(), k_columns, area_.p, kKeyPitch);
    gemm<C>(n, m, e, dy.matrix(), v_columns, area_.dp, kKeyPitch);
    for (int64_t r = 0; r < n; ++r)
      row(area_.p + r * kKeyPitch, area_.dp + r * kKeyPitch, i + r, j, m);
    const MatrixRef<C> p_transposed{area_.p, 1, kKeyPitch}, ds_transposed{area_.dp, 1, kKeyPitch};
    gemm<C>(m, e, n, p_transposed, dy.matrix(), area_.dv, e, Store::accumulate);
    gemm<C>(m, d, n, ds_transposed, q.matrix(), area_.dk, d, Store::accumulate);
    gemm<C>(n, d, m, {area_.dp, kKeyPitch, 1}, k.matrix(), dq_ + i * d, d, Store::accumulate);
  }

  // Raw scores become probabilities, gradients of probabilities those of q . k.
  void row(C* p, C* dp, int64_t i, int64_t j, int64_t m) const {
    const int64_t seen = seen_of_block(sizes_, i, j, m, softmax_[i]);
    if (plain_)
      plain_row(p, dp, whole_vectors<C>(seen), softmax_[i], delta_[i], scale_);
    else
      row_with_options(p, dp, i, j, seen);
    std::fill(p + seen, p + m, C(0));
    std::fill(dp + seen, dp + m, C(0));
  }

  static void plain_row(C* p, C* dp, int64_t n, Softmax<C> softmax, C delta, C scale) {
#pragma omp simd
    for (int64_t c = 0; c < n; ++c) {
      p[c] = probability(p[c], softmax, scale);
      dp[c] = p[c] * (dp[c] - delta) * scale;
    }
  }

  [[gnu::noinline]] void row_with_options(C* p, C* dp, int64_t i, int64_t j, int64_t n) const {
    C slope[kKeys];
    std::fill_n(slope, n, C(1));
    differentiate<T>(scores_, p, dp, slope, i, j, n, softmax_[i], delta_[i]);
#pragma omp simd
    for (int64_t c = 0; c < n; ++c) dp[c] *= slope[c] * scale_;
  }

  const Call& call_;
  const Sizes& sizes_;
  const Extras& extras_;
  const Area<T>& area_;
  int64_t b_, h_;
  C *dq_, *delta_;             // [T, D], [T]
  const Softmax<C>* softmax_;  // [T]
  Scores<T> scores_;
  bool plain_;
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
    const Rows<C> k = head_rows<T>(call.in[1], b, shared, j, m, area.k);
    const Rows<C> v = head_rows<T>(call.in[2], b, shared, j, m, area.v);
    const Keys<C> keys{k, columns_of(k, m, d, area.k_columns), columns_of(v, m, e, area.v_columns),
                       j, m};
    std::fill_n(area.dk, m * d, C(0));
    std::fill_n(area.dv, m * e, C(0));
    each_head([&](const Head<T>& head) { head.add(keys); });
    write<T>(area.dk, call.out[1], b, shared, j, m);
    write<T>(area.dv, call.out[2], b, shared, j, m);
  }
  each_head([](const Head<T>& head) { head.finish(); });
}

template <class T>
int64_t area_bytes(const Sizes& sizes) {
  Scratch scratch(nullptr);
  Area<T>(scratch, sizes);
  return scratch.used();
}

}  // namespace

int64_t backward_workspace(const Sizes& sizes, DType dtype) {
  return visit_floating("attention_grad", dtype, [&]<class T>() {
    return slots_bytes(sizes.batch * sizes.kv_heads, area_bytes<T>(sizes));
  });
}

void backward(const Call& call, const Sizes& sizes, const Extras& extras) {
  visit_floating("attention_grad", call.out[0].dtype(), [&]<class T>() {
    const int64_t items = sizes.batch * sizes.kv_heads;
    for_each_with_slot(
        items, call.workspace, area_bytes<T>(sizes), [&](int64_t item, std::byte* slot) {
          Scratch scratch(slot);
          const Area<T> area(scratch, sizes);
          group<T>(call, sizes, extras, area, item / sizes.kv_heads, item % sizes.kv_heads);
        });
  });
}

}  // namespace plimsoll::attention_detail
