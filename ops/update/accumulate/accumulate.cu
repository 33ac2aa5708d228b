#include "ops/common/many.cuh"
#include "ops/update/accumulate/accumulate.h"

namespace plimsoll {
namespace {

using namespace cuda;

// Of a chunk: the total and what is added to it.
template <class C>
__global__ void accumulate_kernel(Many<C, 2> many, const double* weight, const double* weights,
                                  Accumulate options) {
  const double all = (options.first ? 0 : *weights) + *weight;
  const bool counts = *weight != 0, adds = !options.first;
  const C w = static_cast<C>(*weight), divisor = static_cast<C>(options.last && all != 0 ? all : 1);
  const auto chunk = many.chunk(blockIdx.x);
  write_row(
      chunk.n, chunk.packs, chunk.row[0],
      [&](int64_t, C before, C v) {
        return ((adds ? before : C(0)) + (counts ? w * v : C(0))) / divisor;
      },
      chunk.row[0], chunk.row[1]);
}

}  // namespace

void accumulate_cuda(const Call& call) {
  // Inputs of one call, or of several that were joined: total, x, weight, weights.
  const auto in = [&](size_t i) { return &call.in[4 * i]; };
  const auto same = [&](size_t a, size_t b) {
    return in(a)[2].data == in(b)[2].data && in(a)[3].data == in(b)[3].data;
  };
  for_runs(call.in.size() / 4, same, [&](size_t begin, size_t end) {
    std::vector<Together<2>> tensors;
    for (size_t i = begin; i < end; ++i) tensors.push_back({&in(i)[0], &in(i)[1]});
    for_many<2>(tensors, [&]<class C>(const Many<C, 2>& many, int64_t) {
      launch(accumulate_kernel<C>, many.chunks(), kThreads, many, in(begin)[2].as<double>(),
             in(begin)[3].as<double>(), call.attrs.as<Accumulate>());
    });
  });
}

}  // namespace plimsoll
