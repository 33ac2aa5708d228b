#include "core/base/convert.h"
#include "core/cpu/parallel.h"
#include "core/cuda/elements.cuh"
#include "core/cuda/launch.cuh"
#include "core/engine/op.h"
#include "ops/random/random/draw.h"

namespace plimsoll {
namespace {

using namespace cuda;
using namespace random_detail;

// Drawn in double, then rounded once: to 16 bits by way of a float that has been rounded to odd.
template <class Draw, class C>
__global__ void draw_kernel(double a, double b, uint64_t key, Elements<C> y, int64_t n) {
  for (int64_t i = first_index() * 4; i < n; i += total_threads() * 4) {
    const Four four = Draw::four(random_words(key, 0, static_cast<uint64_t>(i / 4)), a, b);
    for (int j = 0; j < 4 && i + j < n; ++j) {
      const bool narrow = y.dtype == DType::f16 || y.dtype == DType::bf16;
      y.set(i + j, static_cast<C>(narrow ? static_cast<double>(round_to_odd(four[j])) : four[j]));
    }
  }
}

template <class Draw>
void run(const Call& call) {
  const auto& [meta, a, b, key] = call.attrs.as<RandomAttrs>();
  const View& y = call.out[0];
  const int64_t n = count(y.shape());
  visit_floating_elements(y.dtype(), [&, low = a, high = b, k = key]<class C>() {
    launch(draw_kernel<Draw, C>, blocks_for(pieces(n, 4)), kThreads, low, high, k, elements<C>(y),
           n);
  });
}

}  // namespace

void uniform_cuda(const Call& call) { run<FourUniform>(call); }
void normal_cuda(const Call& call) { run<FourNormal>(call); }

}  // namespace plimsoll
