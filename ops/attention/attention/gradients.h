// What the gradients of attention, of q, k and v and of the mask, share: a block at a time.
#pragma once

#include "ops/attention/attention/scores.h"

namespace plimsoll::attention_detail {

// The gradient of a score needs one number about its query. With dp_ij = dout_i . v_j,
//   ds_ij = p_ij (dp_ij - sum_k p_ik dp_ik + dlse_i),  and  sum_k p_ik dp_ik = dout_i . out_i,
// so that number is delta_i = dout_i . out_i - dlse_i.
template <class T>
Compute<T> delta_of(const Call& call, const Extras& extras, int64_t b, int64_t h, int64_t i) {
  using C = Compute<T>;
  const View &out = call.in[3], &dout = call.in[5];
  const T *y = row_start<T>(out, b, h, i), *dy = row_start<T>(dout, b, h, i);
  C delta = 0;
#pragma omp simd reduction(+ : delta)
  for (int64_t e = 0; e < out.shape()[3]; ++e)
    delta += static_cast<C>(y[e]) * static_cast<C>(dy[e]);
  if (!extras.dlog_sum_exp) return delta;
  const int64_t row = (b * out.shape()[2] + h) * out.shape()[1] + i;
  return delta - extras.dlog_sum_exp->as<C>()[row];
}

// Lanes of all blocks of so many queries.
inline int64_t lanes(int64_t queries) { return pieces(queries, kQueries) * kQueries; }

// What the probabilities of queries and their gradients are made with: a number for each lane of
// one block after the other.
template <class C>
struct Known {
  C *highest, *log_total, *delta;

  Known(BumpAllocator& scratch, int64_t lanes)
      : highest(scratch.take<C>(lanes)),
        log_total(scratch.take<C>(lanes)),
        delta(scratch.take<C>(lanes)) {}
  Known from(int64_t lane) const { return {highest + lane, log_total + lane, delta + lane}; }

  // Of n queries from query i of batch b and head h on. For which no key counts, and what is no
  // query, has probabilities of 0: exp(x - infinity).
  template <class T>
  void fill(const Call& call, const Sizes& sizes, const Extras& extras, int64_t b, int64_t h,
            int64_t i, int64_t n) const {
    const auto* softmax = reinterpret_cast<const Softmax<C>*>(call.in[4].as<C>()) +
                          (b * sizes.heads + h) * sizes.queries + i;
    for (int64_t l = 0; l < lanes(n); ++l) {
      const bool counts = l < n && softmax[l].any();
      highest[l] = counts ? softmax[l].highest : C(0);
      log_total[l] = counts ? softmax[l].log_total : std::numeric_limits<C>::infinity();
      delta[l] = counts ? delta_of<T>(call, extras, b, h, i + l) : C(0);
    }
  }

 private:
  Known(C* a, C* b, C* c) : highest(a), log_total(b), delta(c) {}
};

// Raw scores [m, kQueries] of a block become the probabilities that values are weighted with; dp,
// the gradients of those, becomes `scale` times ds, that of the finished scores. With dropout both
// p_ij and dp_ij are multiplied by what was drawn. `slope` becomes the derivative of the finished
// scores by the raw ones where they are capped, as in Scores::finish.
template <class T>
void differentiate(const Scores<T>& scores, const Block& block, const Known<Compute<T>>& known,
                   Compute<T>* s, Compute<T>* dp, Compute<T>* slope,
                   const Turned<Compute<T>>& turned, Compute<T> scale) {
  using C = Compute<T>;
  const C factor = scores.factor();
  const C *highest = known.highest, *log_total = known.log_total, *delta = known.delta;
  const auto probability = [&](C finished, int64_t l) {
    return math::exp_of_negative((finished - highest[l]) * factor - log_total[l]);
  };
  scores.finish(block, s, turned, slope);
  if (scores.drops()) scores.draw(block, turned);
  for (int64_t c = 0; c < block.m; ++c) {
    C *p = s + c * kQueries, *ds = dp + c * kQueries;
    if (!scores.drops()) {
#pragma omp simd
      for (int64_t l = 0; l < kQueries; ++l) {
        p[l] = probability(p[l], l);
        ds[l] = p[l] * (ds[l] - delta[l]) * scale;
      }
    } else {
      const C* kept = turned.lanes + c * kQueries;
#pragma omp simd
      for (int64_t l = 0; l < kQueries; ++l) {
        const C whole = probability(p[l], l);
        ds[l] = whole * (ds[l] * kept[l] - delta[l]) * scale;
        p[l] = whole * kept[l];
      }
    }
  }
}

}  // namespace plimsoll::attention_detail
