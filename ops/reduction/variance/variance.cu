#include "ops/common/moments.cuh"
#include "ops/common/reduce_axes.cuh"

namespace plimsoll {
namespace cuda {
namespace {

template <class C>
struct Variance : Moments<C> {
  Elements<C> y;
  double freedom;
  bool root;
  __device__ void finish(int64_t i, const typename Moments<C>::State& s) const {
    const double v = s.deviations(this->n) / freedom;
    y.set(i, static_cast<C>(root ? std::sqrt(v) : v));
  }
};

// dx = dy 2 (x - mean) / freedom, and for the root dy (x - mean) / (y freedom).
template <class C>
struct VarianceGradient : Moments<C> {
  Elements<C> dy, y, dx;
  double freedom;
  bool root;
  struct Line {
    double shift, mean, factor;  // mean is that of x - shift
  };
  __device__ Line whole(int64_t i, const typename Moments<C>::State& s) const {
    const auto g = static_cast<double>(dy.get(i)), deviation = static_cast<double>(y.get(i));
    const double mean = s.sum / this->n;
    if (!root) return {s.shift, mean, g * 2 / freedom};
    return {s.shift, mean, deviation == 0 ? 0 : g / (deviation * freedom)};
  }
  __device__ void each(const Line& line, int64_t at) const {
    const double d = static_cast<double>(this->x.get(at)) - line.shift - line.mean;
    dx.set(at, static_cast<C>(line.factor * d));
  }
};

double freedom_of(const MiddleAxis& a, const Call& call) {
  return std::max(0.0, static_cast<double>(a.mid) - call.attrs.as<ReduceAttrs>().number);
}

void variance(const Call& call, bool root) {
  const View& x = call.in[0];
  const MiddleAxis a = middle_axis(x.shape(), call.attrs.as<ReduceAttrs>());
  visit_floating_elements(x.dtype(), [&]<class C>() {
    const Variance<C> f{
        {elements<C>(x), a.mid}, elements<C>(call.out[0]), freedom_of(a, call), root};
    reduce(a, f, call.workspace);
  });
}

void gradient(const Call& call, bool root) {
  const View& x = call.in[1];
  const MiddleAxis a = middle_axis(x.shape(), call.attrs.as<ReduceAttrs>());
  visit_floating_elements(x.dtype(), [&]<class C>() {
    const VarianceGradient<C> f{{elements<C>(x), a.mid}, elements<C>(call.in[0]),
                                elements<C>(call.in[2]), elements<C>(call.out[0]),
                                freedom_of(a, call),     root};
    reduce_then_each(a, f, call.workspace);
  });
}

}  // namespace
}  // namespace cuda

void variance_cuda(const Call& call) { cuda::variance(call, false); }
void stddev_cuda(const Call& call) { cuda::variance(call, true); }
void variance_grad_cuda(const Call& call) { cuda::gradient(call, false); }
void stddev_grad_cuda(const Call& call) { cuda::gradient(call, true); }

}  // namespace plimsoll
