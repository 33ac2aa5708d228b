#include "core/cpu/math.h"
#include "ops/attention/blocks.h"

namespace plimsoll::attention_detail {
namespace {

template <class T>
struct Area {
  using C = Compute<T>;
  C *p, *dp;          // [queries, keys] of a block: probabilities, and their gradients
  C *dq, *delta;      // [T, D] and [T]: of the whole head
  C *dk, *dv;         // [keys, D] of a block
  C *q, *k, *v, *dy;  // 16-bit types only: widened blocks

  Area(Scratch& scratch, const Sizes& sizes) {
    const int64_t nq = std::min(kQueries, sizes.queries), nk = std::min(kKeys, sizes.keys);
    const int64_t d = sizes.features, wide = std::is_same_v<T, C> ? 0 : d;
    p = scratch.take<C>(nq * nk);
    dp = scratch.take<C>(nq * nk);
    dq = scratch.take<C>(sizes.queries * d);
    delta = scratch.take<C>(sizes.queries);
    dk = scratch.take<C>(nk * d);
    dv = scratch.take<C>(nk * d);
    q = scratch.take<C>(nq * wide);
    k = scratch.take<C>(nk * wide);
    v = scratch.take<C>(nk * wide);
    dy = scratch.take<C>(nq * wide);
  }
};

// One batch and head. With dp_ij = dout_i . v_j the gradient of a score is
//   ds_ij = p_ij (dp_ij - sum_k p_ik dp_ik + dlse_i),  and  sum_k p_ik dp_ik = dout_i . out_i,
// so that one number a query, delta_i = dout_i . out_i - dlse_i, stands for the whole row.
template <class T>
class Head {
  using C = Compute<T>;

 public:
  Head(const Call& call, const Sizes& sizes, const Area<T>& area, int64_t b, int64_t h)
      : call_(call),
        sizes_(sizes),
        area_(area),
        b_(b),
        h_(h),
        d_(sizes.features),
        scale_(static_cast<C>(sizes.scale)),
        row_((b * sizes.heads + h) * sizes.queries),
        log_sum_exp_(call.in[4].as<C>() + row_) {}

  void run() const {
    find_delta();
    std::fill_n(area_.dq, sizes_.queries * d_, C(0));
    for (int64_t j = 0; j < sizes_.keys; j += kKeys) key_block(j, std::min(kKeys, sizes_.keys - j));
    write(area_.dq, call_.out[0], 0, sizes_.queries);
  }

 private:
  void find_delta() const {
    for (int64_t i = 0; i < sizes_.queries; ++i) {
      const T* out = row_start<T>(call_.in[3], b_, h_, i);
      const T* dout = row_start<T>(call_.in[5], b_, h_, i);
      C delta = 0;
#pragma omp simd reduction(+ : delta)
      for (int64_t e = 0; e < d_; ++e) delta += static_cast<C>(out[e]) * static_cast<C>(dout[e]);
      area_.delta[i] = call_.in.size() == 7 ? delta - call_.in[6].as<C>()[row_ + i] : delta;
    }
  }

  // Keys j ... j + m - 1 against all queries that see any of them.
  void key_block(int64_t j, int64_t m) const {
    const Rows<C> k = head_rows<T>(call_.in[1], b_, h_, j, m, area_.k);
    const Rows<C> v = head_rows<T>(call_.in[2], b_, h_, j, m, area_.v);
    std::fill_n(area_.dk, m * d_, C(0));
    std::fill_n(area_.dv, m * d_, C(0));
    for (int64_t i = sizes_.first_query(j) / kQueries * kQueries; i < sizes_.queries; i += kQueries)
      block(k, v, j, m, i, std::min(kQueries, sizes_.queries - i));
    write(area_.dk, call_.out[1], j, m);
    write(area_.dv, call_.out[2], j, m);
  }

  // Adds what keys j ... j + m - 1 and queries i ... i + n - 1 have to do with each other.
  void block(const Rows<C>& k, const Rows<C>& v, int64_t j, int64_t m, int64_t i, int64_t n) const {
    const Rows<C> q = head_rows<T>(call_.in[0], b_, h_, i, n, area_.q);
    const Rows<C> dy = head_rows<T>(call_.in[5], b_, h_, i, n, area_.dy);
    gemm<C>(n, m, d_, q.matrix(), k.transposed(), area_.p, m);
    gemm<C>(n, m, d_, dy.matrix(), v.transposed(), area_.dp, m);
    for (int64_t r = 0; r < n; ++r)
      differentiate(area_.p + r * m, area_.dp + r * m, m,
                    std::clamp<int64_t>(sizes_.seen(i + r) - j, 0, m), log_sum_exp_[i + r],
                    area_.delta[i + r]);
    const MatrixRef<C> p_transposed{area_.p, 1, m}, ds_transposed{area_.dp, 1, m};
    gemm<C>(m, d_, n, p_transposed, dy.matrix(), area_.dv, d_, Store::accumulate);
    gemm<C>(m, d_, n, ds_transposed, q.matrix(), area_.dk, d_, Store::accumulate);
    gemm<C>(n, d_, m, {area_.dp, m, 1}, k.matrix(), area_.dq + i * d_, d_, Store::accumulate);
  }

  // One row: scores become probabilities, gradients of probabilities those of q . k.
  void differentiate(C* p, C* dp, int64_t m, int64_t seen, C log_sum_exp, C delta) const {
    std::fill(p + seen, p + m, C(0));
    std::fill(dp + seen, dp + m, C(0));
#pragma omp simd
    for (int64_t c = 0; c < seen; ++c) {
      p[c] = math::exp(p[c] * scale_ - log_sum_exp);
      dp[c] = p[c] * (dp[c] - delta) * scale_;
    }
  }

  // Rounds n rows into rows first ... of a result [B, L, H, D].
  void write(const C* from, const View& to, int64_t first, int64_t n) const {
    for (int64_t r = 0; r < n; ++r) {
      T* row = row_start<T>(to, b_, h_, first + r);
#pragma omp simd
      for (int64_t e = 0; e < d_; ++e) row[e] = static_cast<T>(from[r * d_ + e]);
    }
  }

  const Call& call_;
  const Sizes& sizes_;
  const Area<T>& area_;
  int64_t b_, h_, d_;
  C scale_;
  int64_t row_;           // of this head's first query in log_sum_exp [B, H, T]
  const C* log_sum_exp_;  // [T]
};

template <class T>
int64_t area_bytes(const Sizes& sizes) {
  Scratch scratch(nullptr);
  Area<T>(scratch, sizes);
  return scratch.used();
}

}  // namespace

int64_t backward_workspace(const Sizes& sizes, DType dtype) {
  return visit_floating("attention_grad", dtype, [&]<class T>() {
    return slots_bytes(sizes.batch * sizes.heads, area_bytes<T>(sizes));
  });
}

void backward(const Call& call, const Sizes& sizes) {
  visit_floating("attention_grad", call.out[0].dtype(), [&]<class T>() {
    const int64_t bytes = area_bytes<T>(sizes);
    const int64_t items = sizes.batch * sizes.heads;
    for_each_with_slot(items, call.workspace, bytes, [&](int64_t item, std::byte* slot) {
      Scratch scratch(slot);
      const Area<T> area(scratch, sizes);
      Head<T>(call, sizes, area, item / sizes.heads, item % sizes.heads).run();
    });
  });
}

}  // namespace plimsoll::attention_detail
