#include "core/cuda/launch.cuh"
#include "core/op.h"

namespace plimsoll {
namespace {

using namespace cuda;

template <class Word>
__global__ void apply_mask_kernel(Word* x, const bool* mask, int64_t n) {
  for (int64_t i = first_index(); i < n; i += total_threads())
    if (!mask[i]) x[i] = Word{0};
}

template <class Word>
void mask_words(const Call& call) {
  const int64_t n = count(call.in[0].shape());
  launch(apply_mask_kernel<Word>, blocks_for(n), kThreads, call.in[0].as<Word>(),
         call.in[1].as<bool>(), n);
}

}  // namespace

void apply_mask_cuda(const Call& call) {
  if (count(call.in[0].shape()) == 0) return;
  visit_width(size_of(call.in[0].dtype()), [&]<class Word>() { mask_words<Word>(call); });
}

}  // namespace plimsoll
