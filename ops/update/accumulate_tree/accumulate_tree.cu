#include "ops/update/accumulate_tree/accumulate_tree.h"

#include "core/cuda/elements.cuh"
#include "core/cuda/launch.cuh"
#include "core/engine/op.h"
#include "ops/update/accumulate_tree/place.h"

namespace plimsoll {
namespace {

using namespace cuda;

template <class C>
struct Levels {
  C* sums[16];
  int count;  // of those that wait
};

template <class C>
__global__ void accumulate_tree_kernel(Levels<C> levels, Elements<C> x, int64_t n,
                                       const double* weight, const int64_t* part, TreeSum options) {
  const auto place =
      accumulate_tree_detail::place_of(*part, options.block, levels.count, options.last);
  const int top = options.last ? levels.count : accumulate_tree_detail::level_of(place.block);
  const bool counts = *weight != 0;
  const C w = static_cast<C>(*weight);
  C* const under_way = levels.sums[place.target];
  for (int64_t i = first_index(); i < n; i += total_threads()) {
    const C before = place.first ? C(0) : under_way[i];
    C sum = before + (counts ? w * x.get(i) : C(0));
    under_way[i] = sum;
    if (!place.completes) continue;
    for (int level = 0; level < top; ++level)
      sum = ((place.block >> level) % 2 == 1 ? levels.sums[level][i] : C(0)) + sum;
    levels.sums[top][i] = sum;
  }
}

}  // namespace

// Inputs: x, weight, part, levels. A part that is in no block is refused on the CPU alone.
void accumulate_tree_cuda(const Call& call) {
  const View& x = call.in[0];
  const int64_t n = count(x.shape());
  visit_floating_elements(x.dtype(), [&]<class C>() {
    Levels<C> levels{};
    levels.count = static_cast<int>(call.in.size()) - 4;
    for (int i = 0; i <= levels.count; ++i) levels.sums[i] = call.in[3 + i].as<C>();
    launch(accumulate_tree_kernel<C>, blocks_for(n), kThreads, levels, elements<C>(x), n,
           call.in[1].as<double>(), call.in[2].as<int64_t>(), call.attrs.as<TreeSum>());
  });
}

}  // namespace plimsoll
