#include <limits>

#include "ops/common/reduce_axes.cuh"

namespace plimsoll {
namespace cuda {
namespace {

// The largest or smallest element, or where the first of them is. NaN wins.
template <class C>
struct Extremum {
  struct State {
    C value;
    int64_t place;  // -1: nothing yet
  };
  bool largest;
  Elements<C> x;
  Elements<C> values;  // one of these two is written
  int64_t* places;
  __device__ State start(int64_t, int64_t) const { return {C(0), -1}; }
  __device__ void take(State& s, int64_t at, int64_t m) const { join(s, {x.get(at), m}); }
  __device__ void join(State& s, const State& other) const {
    if (other.place < 0) return;
    const bool s_is_nan = s.value != s.value, other_is_nan = other.value != other.value;
    const bool equal = s.value == other.value || (s_is_nan && other_is_nan);
    const bool beaten = largest ? other.value > s.value : other.value < s.value;
    if (s.place < 0 || (equal ? other.place < s.place : !s_is_nan && (other_is_nan || beaten)))
      s = other;
  }
  __device__ void finish(int64_t i, const State& s) const {
    if (places)
      places[i] = s.place;
    else
      values.set(i, s.value);
  }
};

void find(const Call& call, bool largest) {
  const MiddleAxis a = middle_axis(call.in[0].shape(), call.attrs.as<ReduceAttrs>());
  const View &x = call.in[0], &y = call.out[0];
  visit_elements(x.dtype(), [&]<class C>() {
    reduce(a, Extremum<C>{largest, elements<C>(x), elements<C>(y), nullptr}, call.workspace);
  });
}

void find_place(const Call& call, bool largest) {
  const MiddleAxis a = middle_axis(call.in[0].shape(), call.attrs.as<ReduceAttrs>());
  const View &x = call.in[0], &y = call.out[0];
  visit_elements(x.dtype(), [&]<class C>() {
    reduce(a, Extremum<C>{largest, elements<C>(x), {}, y.as<int64_t>()}, call.workspace);
  });
}

// dx = dy * (x == y) / (number of elements equal to y). Without one (y is NaN) that is NaN.
template <class C>
struct ShareOfTies {
  struct State {
    C y;
    int64_t ties;
  };
  Elements<C> x, dy, y, dx;
  __device__ State start(int64_t i, int64_t) const { return {y.get(i), 0}; }
  __device__ void take(State& s, int64_t at, int64_t) const { s.ties += x.get(at) == s.y; }
  __device__ void join(State& s, const State& other) const { s.ties += other.ties; }
  struct Line {
    C y, share;
    bool none;
  };
  __device__ Line whole(int64_t i, const State& s) const {
    const bool none = s.ties == 0;
    return {s.y, none ? std::numeric_limits<C>::quiet_NaN() : dy.get(i) / static_cast<C>(s.ties),
            none};
  }
  __device__ void each(const Line& line, int64_t at) const {
    dx.set(at, line.none || x.get(at) == line.y ? line.share : C(0));
  }
};

}  // namespace
}  // namespace cuda

void amax_cuda(const Call& call) { cuda::find(call, true); }
void amin_cuda(const Call& call) { cuda::find(call, false); }
void argmax_cuda(const Call& call) { cuda::find_place(call, true); }
void argmin_cuda(const Call& call) { cuda::find_place(call, false); }

void amax_grad_cuda(const Call& call) {
  const MiddleAxis a = middle_axis(call.in[1].shape(), call.attrs.as<ReduceAttrs>());
  cuda::visit_floating_elements(call.out[0].dtype(), [&]<class C>() {
    const cuda::ShareOfTies<C> share{cuda::elements<C>(call.in[1]), cuda::elements<C>(call.in[0]),
                                     cuda::elements<C>(call.in[2]), cuda::elements<C>(call.out[0])};
    cuda::reduce_then_each(a, share, call.workspace);
  });
}

}  // namespace plimsoll
