// The loss of one row of logits and its gradient: what cross_entropy and linear_cross_entropy
// share.
//
// With z = log(sum_c exp(x_c)), weights w, label y and the label's mass spread by e,
//   loss = (1 - e) w_y (z - x_y) + e/C sum_c w_c (z - x_c).
#pragma once

#include <limits>
#include <numeric>

#include "core/cpu/math.h"
#include "ops/broadcast.h"
#include "ops/class_loss.h"
#include "ops/cross_entropy/cross_entropy.h"

namespace plimsoll {

struct CrossEntropyAttrs {
  int64_t ignore_index;
  double label_smoothing;
  Reduction reduction;
  bool operator==(const CrossEntropyAttrs&) const = default;
};

// Checks and takes the options apart. ValueError.
CrossEntropyAttrs cross_entropy_attrs(const char* op, const CrossEntropyOptions& options);

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
    double loss, log_sum;  // and z
  };

  // x is row number `row`.
  template <class T>
  Result forward(const T* x, int64_t row) const {
    C m = -std::numeric_limits<C>::infinity(), total = 0;
#pragma omp simd reduction(max : m)
    for (int64_t i = 0; i < classes; ++i) {
      const C v = static_cast<C>(x[i]);
      m = v > m ? v : m;
    }
#pragma omp simd reduction(+ : total)
    for (int64_t i = 0; i < classes; ++i) total += math::exp(static_cast<C>(x[i]) - m);
    // z = m + log(total) is never subtracted from as one number: apart they lose nothing, however
    // large x is.
    const double high = static_cast<double>(m), rest = static_cast<double>(std::log(total));
    if (!weights.counts(row)) return {0, high + rest};
    const double miss = rest + (high - static_cast<double>(x[weights.label[row]]));
    double loss = static_cast<double>(at_label * weights(row)) * miss;
    if (everywhere != 0)
      loss += static_cast<double>(everywhere) *
              (static_cast<double>(all) * rest + static_cast<double>(below(x, m)));
    return {loss, high + rest};
  }

  // d = scale times the gradient, given z; d may be x.
  template <class T>
  void backward(const T* x, int64_t row, double log_sum, C scale, T* d) const {
    if (!weights.counts(row)) {
      std::fill_n(d, classes, T(0));
      return;
    }
    const int64_t label = weights.label[row];
    const C high = static_cast<C>(log_sum);
    const C rest = static_cast<C>(log_sum - static_cast<double>(high));
    const C own = at_label * weights(row), mass = own + everywhere * all;  // of label, of all
    const C p_label = math::exp(static_cast<C>(x[label]) - high - rest);
    const auto fill = [&, p_scale = mass * scale](auto share) {
#pragma omp simd
      for (int64_t i = 0; i < classes; ++i)
        d[i] = narrow<T>(math::exp(static_cast<C>(x[i]) - high - rest) * p_scale - share(i));
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
