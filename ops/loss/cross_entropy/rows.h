// The loss of one row of logits and its gradient: what cross_entropy and linear_cross_entropy
// share.
//
// With z = log(sum_c exp(x_c)), weights w, label y and the label's mass spread by e,
//   loss = (1 - e) w_y (z - x_y) + e/C sum_c w_c (z - x_c).
#pragma once

#include <numeric>

#include "core/base/math.h"
#include "core/cpu/reduce.h"
#include "ops/common/broadcast.h"
#include "ops/loss/common/class_loss.h"
#include "ops/loss/cross_entropy/attrs.h"
#include "ops/loss/cross_entropy/cross_entropy.h"

namespace plimsoll {

// Checks and takes the options apart. ValueError.
CrossEntropyAttrs cross_entropy_attrs(const char* op, const CrossEntropyOptions& options);

// The LogSums of all rows, as a tensor [..., 2].
Meta log_sums_of(const Meta& labels, DType logits);

template <class C>
struct CrossEntropyRows {
  RowWeights<C> weights;
  int64_t classes;
  C at_label, everywhere;  // 1 - e, e/C
  C all = 0;               // sum_c w_c

  CrossEntropyRows(const View& labels, const View* weight, int64_t c, const CrossEntropyAttrs& a)
      : weights(labels, weight, a.ignore_index),
        classes(c),
        at_label(static_cast<C>(1 - a.label_smoothing)),
        everywhere(
            static_cast<C>(a.label_smoothing / static_cast<double>(std::max<int64_t>(c, 1)))) {
    const C* w = weights.weight;
    all = static_cast<C>(w ? std::accumulate(w, w + c, 0.0) : static_cast<double>(c));
  }

  struct Result {
    double loss;
    LogSum<C> log_sum;
  };

  // x is row number `row`.
  template <class T>
  Result forward(const T* x, int64_t row) const {
    const C m = max_of<C>(classes, [&]<class V>(int64_t i) { return load_as<V>(x + i); });
    C total = 0;
#pragma omp simd reduction(+ : total)
    for (int64_t i = 0; i < classes; ++i) total += math::exp_of_negative(static_cast<C>(x[i]) - m);
    const LogSum<C> log_sum{m, std::log(total)};
    if (!weights.counts(row)) return {0, log_sum};
    const double rest = static_cast<double>(log_sum.log_total);
    const double miss =
        rest + (static_cast<double>(m) - static_cast<double>(x[weights.label[row]]));
    double loss = static_cast<double>(at_label * weights(row)) * miss;
    if (everywhere != 0)
      loss += static_cast<double>(everywhere) *
              (static_cast<double>(all) * rest + static_cast<double>(below(x, m)));
    return {loss, log_sum};
  }

  // d = scale times the gradient; d may be x.
  template <class T>
  void backward(const T* x, int64_t row, LogSum<C> log_sum, C scale, T* d) const {
    if (!weights.counts(row)) {
      std::fill_n(d, classes, T(0));
      return;
    }
    const int64_t label = weights.label[row];
    const auto probability = [high = log_sum.highest, rest = log_sum.log_total](T logit) {
      return math::exp_of_negative(static_cast<C>(logit) - high - rest);
    };
    const C own = at_label * weights(row), mass = own + everywhere * all;  // of label, of all
    const C p_label = probability(x[label]);
    const auto fill = [&, p_scale = mass * scale](auto share) {
#pragma omp simd
      for (int64_t i = 0; i < classes; ++i)
        d[i] = narrow<T>(probability(x[i]) * p_scale - share(i));
    };
    const C* w = weights.weight;
    const C share = everywhere * scale;
    if (everywhere == 0)
      fill([](int64_t) { return C(0); });
    else if (!w)
      fill([=](int64_t) { return share; });
    else
      fill([=](int64_t i) { return share * w[i]; });
    d[label] = narrow<T>((mass * p_label - own - everywhere * (w ? w[label] : C(1))) * scale);
  }

 private:
  // sum_c w_c (m - x_c)
  template <class T>
  C below(const T* x, C m) const {
    C total = 0;
    if (const C* w = weights.weight) {
#pragma omp simd reduction(+ : total)
      for (int64_t i = 0; i < classes; ++i) total += w[i] * (m - static_cast<C>(x[i]));
    } else {
#pragma omp simd reduction(+ : total)
      for (int64_t i = 0; i < classes; ++i) total += m - static_cast<C>(x[i]);
    }
    return total;
  }
};

}  // namespace plimsoll
