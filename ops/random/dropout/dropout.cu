#include "core/cpu/parallel.h"
#include "core/cuda/elements.cuh"
#include "core/cuda/launch.cuh"
#include "core/engine/op.h"
#include "ops/random/dropout/attrs.h"
#include "ops/random/dropout/bits.h"

namespace plimsoll {
namespace {

using namespace cuda;

template <class C>
__global__ void dropout_kernel(Elements<C> x, const int64_t* key, DropoutAttrs attrs, Elements<C> y,
                               int64_t n) {
  const DropoutBits bits(attrs.p, attrs.site, key);
  const C scale = static_cast<C>(1 / (1 - attrs.p));
  static_assert(kPack == 4);  // which take one block of random words
  for (int64_t i = first_index() * kPack; i < n; i += total_threads() * kPack) {
    const auto words = bits.words(i / 4);
    C values[kPack];
    x.get(i, n, values);
    for (int j = 0; j < kPack; ++j) values[j] = bits.keeps(words[j]) ? values[j] * scale : C(0);
    y.set(i, n, values);
  }
}

}  // namespace

void dropout_cuda(const Call& call) {
  const View &x = call.in[0], &y = call.out[0];
  const int64_t n = count(y.shape());
  visit_floating_elements(y.dtype(), [&]<class C>() {
    launch(dropout_kernel<C>, blocks_for(packs_in(n)), kThreads, elements<C>(x),
           call.in[1].as<int64_t>(), call.attrs.as<DropoutAttrs>(), elements<C>(y), n);
  });
}

}  // namespace plimsoll
