// Many tensors handled by few launches: each block gets a chunk of one of them, or of K that belong
// together, such as a parameter, its gradient and its moments.
//
//   for_many<1>(each(call.in), [&]<class C>(const Many<C, 1>& many, int64_t before) {
//     launch(kernel<C>, many.chunks(), kThreads, many, partial + before);
//   });
//   const auto chunk = many.chunk(blockIdx.x);                                      // device
//   read_row(chunk.n, chunk.packs, [&](int64_t, C v) { ... }, chunk.row[0]);
#pragma once

#include <vector>

#include "core/op.h"
#include "ops/many.h"
#include "ops/rows.cuh"
#include "ops/scalar.cuh"

namespace plimsoll::cuda {

template <class C, int K>
struct Chunk {
  Row<C> row[K];
  int64_t n;
  bool packs;
};

template <int K>
using Together = std::array<const View*, K>;  // of equal shapes

template <class C, int K>
struct Many {
  static constexpr int kMost = 192 / (K + 2);  // what the parameters of a kernel have room for
  int tensors = 0;
  Elements<C> of[kMost][K];
  int64_t count[kMost];
  int64_t begin[kMost + 1] = {};  // number of the first chunk of each
  bool packs[kMost];

  int64_t chunks() const { return begin[tensors]; }
  void add(const Together<K>& views) {
    const int64_t n = plimsoll::count(views[0]->shape());
    count[tensors] = n;
    packs[tensors] = true;
    for (int k = 0; k < K; ++k) {
      of[tensors][k] = elements<C>(*views[k]);
      packs[tensors] = packs[tensors] && in_packs(*views[k], n);
    }
    begin[tensors + 1] = begin[tensors] + chunks_of(views[0]->meta);
    ++tensors;
  }
  __device__ Chunk<C, K> chunk(int64_t number) const {
    int i = 0;
    while (begin[i + 1] <= number) ++i;
    const int64_t first = (number - begin[i]) * kChunk, rest = count[i] - first;
    Chunk<C, K> result;
    for (int k = 0; k < K; ++k) result.row[k] = {of[i][k], first};
    result.n = rest < kChunk ? rest : kChunk;
    result.packs = packs[i];
    return result;
  }
};

inline std::vector<Together<1>> each(std::span<const View> views) {
  std::vector<Together<1>> result;
  for (const View& view : views) result.push_back({&view});
  return result;
}

// Calls f.template operator()<C>(many, chunks before it) for all of them, floating ones, in order.
template <int K, class F>
void for_many(const std::vector<Together<K>>& all, const F& f) {
  int64_t before = 0;
  for (size_t i = 0; i < all.size();)
    visit_floating_elements(all[i][0]->dtype(), [&]<class C>() {
      Many<C, K> many;
      const auto fits = [](const View& view) {
        return (view.dtype() == DType::f64) == std::is_same_v<C, double>;
      };
      for (; i < all.size() && many.tensors < many.kMost && fits(*all[i][0]); ++i) many.add(all[i]);
      if (many.chunks() > 0) f.template operator()<C>(many, before);
      before += many.chunks();
    });
}

// Calls f(begin, end) for runs of calls that have the same in common, as same(a, b) says of two.
template <class Same, class F>
void for_runs(size_t calls, const Same& same, const F& f) {
  for (size_t begin = 0, end = 0; begin < calls; begin = end) {
    while (end < calls && same(begin, end)) ++end;
    f(begin, end);
  }
}

// Calls f(inputs) for each of the calls that were joined, of `each` inputs.
template <class F>
void for_calls(const Call& call, size_t each, const F& f) {
  for (size_t i = 0; i < call.in.size(); i += each) f(call.in.subspan(i, each));
}

}  // namespace plimsoll::cuda
