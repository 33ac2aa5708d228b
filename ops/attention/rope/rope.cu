#include "core/cuda/elements.cuh"
#include "core/cuda/launch.cuh"
#include "core/engine/op.h"
#include "ops/attention/rope/attrs.h"

namespace plimsoll {
namespace {

using namespace cuda;

struct RopeSizes {
  int64_t rows, heads, width, pairs, angles;  // rows: positions of all sequences
  int64_t step, next;                         // between members of a pair, between pairs
};

// One thread for each pair, and for each feature that stays.
template <class C>
__global__ void rope_kernel(RopeSizes s, C sign, Elements<C> x, Elements<C> cos, Elements<C> sin,
                            Elements<C> y) {
  const int64_t each = s.width - s.pairs;
  for (int64_t e = first_index(); e < s.rows * s.heads * each; e += total_threads()) {
    const int64_t head = e / each, i = e % each, start = head * s.width;
    if (i >= s.pairs) {
      y.set(start + s.pairs + i, x.get(start + s.pairs + i));
      continue;
    }
    const int64_t angle = head / s.heads % s.angles * s.pairs + i;
    const int64_t first = start + i * s.next, second = first + s.step;
    const C a = x.get(first), b = x.get(second), c = cos.get(angle), d = sign * sin.get(angle);
    y.set(first, a * c - b * d);
    y.set(second, a * d + b * c);
  }
}

}  // namespace

void rope_cuda(const Call& call) {
  const auto& attrs = call.attrs.as<RopeTurnAttrs>();
  const Shape &x = call.in[0].shape(), &cos = call.in[1].shape();
  const int64_t pairs = cos.back();
  const RopeSizes s{.rows = x[0] * x[1],
                    .heads = x[2],
                    .width = x[3],
                    .pairs = pairs,
                    .angles = cos.rank() == 3 ? cos[0] * cos[1] : cos[0],
                    .step = attrs.own.interleaved ? 1 : pairs,
                    .next = attrs.own.interleaved ? 2 : 1};
  visit_floating_elements(call.out[0].dtype(), [&]<class C>() {
    launch(rope_kernel<C>, blocks_for(count(x)), kThreads, s, attrs.back ? C(-1) : C(1),
           elements<C>(call.in[0]), elements<C>(call.in[1]), elements<C>(call.in[2]),
           elements<C>(call.out[0]));
  });
}

}  // namespace plimsoll
