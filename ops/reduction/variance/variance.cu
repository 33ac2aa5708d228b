#include "ops/common/reduce_axes.cuh"

namespace plimsoll {
namespace cuda {
namespace {

// One pass over x - shift, where shift is the first element: with it among those that are added
// up, the square of their mean is at most n times their variance, and so little is cancelled in
// f64. All equal elements give 0.
template <class C>
struct Moments {
  struct State {
    double shift, sum, squares;
  };
  Elements<C> x;
  int64_t n;
  double freedom;
  bool root;
  __device__ State start(int64_t, int64_t first) const {
    return {n > 0 ? static_cast<double>(x.get(first)) : 0, 0, 0};
  }
  __device__ void take(State& s, C v, int64_t) const {
    const double d = static_cast<double>(v) - s.shift;
    s.sum += d;
    s.squares += d * d;
  }
  __device__ void join(State& s, const State& other) const {
    s.sum += other.sum;
    s.squares += other.squares;
  }
};

template <class C>
struct Variance : Moments<C> {
  Elements<C> y;
  Variance(const Moments<C>& moments, Elements<C> to) : Moments<C>(moments), y(to) {}
  __device__ void finish(int64_t i, const typename Moments<C>::State& s) const {
    const double squares = this->n > 0 ? s.squares - s.sum * s.sum / this->n : 0;
    const double v = (squares < 0 ? 0 : squares) / this->freedom;
    y.set(i, static_cast<C>(this->root ? std::sqrt(v) : v));
  }
};

// dx = dy 2 (x - mean) / freedom, and for the root dy (x - mean) / (y freedom).
template <class C>
struct VarianceGradient : Moments<C> {
  Elements<C> dy, y;
  VarianceGradient(const Moments<C>& moments, Elements<C> dy_from, Elements<C> y_from)
      : Moments<C>(moments), dy(dy_from), y(y_from) {}
  struct Line {
    double shift, mean, factor;  // mean is that of x - shift
  };
  __device__ Line whole(int64_t i, const typename Moments<C>::State& s) const {
    const auto g = static_cast<double>(dy.get(i)), deviation = static_cast<double>(y.get(i));
    const double mean = s.sum / this->n;
    if (!this->root) return {s.shift, mean, g * 2 / this->freedom};
    return {s.shift, mean, deviation == 0 ? 0 : g / (deviation * this->freedom)};
  }
  __device__ C each(const Line& line, C v) const {
    return static_cast<C>(line.factor * (static_cast<double>(v) - line.shift - line.mean));
  }
};

template <class C>
Moments<C> moments_of(const View& x, const MiddleAxis& a, const Call& call, bool root) {
  const double correction = call.attrs.as<ReduceAttrs>().number;
  return {elements<C>(x), a.mid, std::max(0.0, static_cast<double>(a.mid) - correction), root};
}

void variance(const Call& call, bool root) {
  const View& x = call.in[0];
  const MiddleAxis a = middle_axis(x.shape(), call.attrs.as<ReduceAttrs>());
  visit_floating_elements(x.dtype(), [&]<class C>() {
    reduce<C>(call, x, a, Variance<C>(moments_of<C>(x, a, call, root), elements<C>(call.out[0])));
  });
}

void gradient(const Call& call, bool root) {
  const View& x = call.in[1];
  const MiddleAxis a = middle_axis(x.shape(), call.attrs.as<ReduceAttrs>());
  visit_floating_elements(x.dtype(), [&]<class C>() {
    const VarianceGradient<C> f(moments_of<C>(x, a, call, root), elements<C>(call.in[0]),
                                elements<C>(call.in[2]));
    reduce<C>(call, x, a, f, &call.out[0]);
  });
}

}  // namespace
}  // namespace cuda

void variance_cuda(const Call& call) { cuda::variance(call, false); }
void stddev_cuda(const Call& call) { cuda::variance(call, true); }
void variance_grad_cuda(const Call& call) { cuda::gradient(call, false); }
void stddev_grad_cuda(const Call& call) { cuda::gradient(call, true); }

}  // namespace plimsoll
