// What the gradients of attention, of q, k and v and of the mask, share: one row at a time.
#pragma once

#include "ops/attention/scores.h"

namespace plimsoll::attention_detail {

// The gradient of a score needs one number about its whole row. With dp_ij = dout_i . v_j,
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

// Of all queries of batch b and head h.
template <class C>
const Softmax<C>* softmax_of(const Call& call, const Sizes& sizes, int64_t b, int64_t h) {
  return reinterpret_cast<const Softmax<C>*>(call.in[4].as<C>()) +
         (b * sizes.heads + h) * sizes.queries;
}

// How many of the keys j ... j + m - 1 count for query i; none where all that it sees are hidden.
template <class C>
int64_t seen_of_block(const Sizes& sizes, int64_t i, int64_t j, int64_t m, Softmax<C> softmax) {
  return softmax.any() ? std::clamp<int64_t>(sizes.seen(i) - j, 0, m) : 0;
}

template <class C>
C probability(C finished, Softmax<C> softmax, C factor) {
  return math::exp_of_negative((finished - softmax.highest) * factor - softmax.log_total);
}

// Of n keys from j on: raw scores become the probabilities that values are weighted with; dp, the
// gradients of those, becomes ds, that of the finished scores. With dropout both p_ij and dp_ij are
// multiplied by what was drawn. `slope` becomes the derivative of the finished scores by the raw
// ones, as in Scores::finish.
template <class T>
void differentiate(const Scores<T>& scores, Compute<T>* s, Compute<T>* dp, Compute<T>* slope,
                   int64_t i, int64_t j, int64_t n, Softmax<Compute<T>> softmax, Compute<T> delta) {
  using C = Compute<T>;
  const C factor = scores.factor();
  scores.finish(s, i, j, n, slope);
#pragma omp simd
  for (int64_t c = 0; c < n; ++c) s[c] = probability(s[c], softmax, factor);
  if (!scores.drops()) {
#pragma omp simd
    for (int64_t c = 0; c < n; ++c) dp[c] = s[c] * (dp[c] - delta);
    return;
  }
  C kept[kKeys];
  scores.draw(kept, i, j, n);
#pragma omp simd
  for (int64_t c = 0; c < n; ++c) {
    dp[c] = s[c] * (dp[c] * kept[c] - delta);
    s[c] *= kept[c];
  }
}

}  // namespace plimsoll::attention_detail
