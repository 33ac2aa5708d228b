#include "ops/common/pointwise.cuh"
#include "ops/common/reduce_axes.cuh"
#include "ops/reduction/norm/formulas.h"

namespace plimsoll {
namespace cuda {
namespace {

template <class C>
struct Norm {
  using State = double;
  Elements<C> x, y;
  double p;
  __device__ State start(int64_t, int64_t) const { return 0; }
  __device__ void take(State& s, int64_t at, int64_t) const {
    const auto v = static_cast<double>(x.get(at));
    s += formulas::with_p(p, [&](auto f) { return f.term(v, p); });
  }
  __device__ void join(State& s, State other) const { s += other; }
  __device__ void finish(int64_t i, State s) const {
    y.set(i, static_cast<C>(formulas::with_p(p, [&](auto f) { return f.root(s, p); })));
  }
};

struct Gradient {
  double p;
  template <class C>
  __device__ C operator()(C dy, C x, C y) const {
    const auto v = static_cast<double>(x), length = static_cast<double>(y);
    const double slope = formulas::with_p(p, [&](auto f) { return f.slope(v, length, p); });
    return static_cast<C>(static_cast<double>(dy) * slope);
  }
};

}  // namespace
}  // namespace cuda

void norm_cuda(const Call& call) {
  const auto& attrs = call.attrs.as<ReduceAttrs>();
  const MiddleAxis a = middle_axis(call.in[0].shape(), attrs);
  cuda::visit_floating_elements(call.out[0].dtype(), [&]<class C>() {
    const cuda::Norm<C> norm{cuda::elements<C>(call.in[0]), cuda::elements<C>(call.out[0]),
                             attrs.number};
    cuda::reduce(a, norm, call.workspace);
  });
}

// A pointwise op, to which dy and y are broadcast along mid.
void norm_grad_cuda(const Call& call) {
  const auto& attrs = call.attrs.as<ReduceAttrs>();
  const MiddleAxis a = middle_axis(call.in[1].shape(), attrs);
  const auto look = [](const View& view, const Shape& shape) {
    Meta meta = view.meta;
    meta.shape = shape;
    return View{view.data, meta, row_major(shape)};
  };
  const Shape line{a.outer, 1, a.inner}, whole{a.outer, a.mid, a.inner};
  const View in[] = {look(call.in[0], line), look(call.in[1], whole), look(call.in[2], line)};
  const View out[] = {look(call.out[0], whole)};
  cuda::visit_floating_elements(call.out[0].dtype(), [&]<class C>() {
    cuda::map<C, 3>({in, out, call.attrs, call.workspace}, cuda::Gradient{attrs.number});
  });
}

}  // namespace plimsoll
