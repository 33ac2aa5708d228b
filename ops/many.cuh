// Many tensors read by few launches: each block gets a chunk of one of them.
//
//   for_many(call.in, [&]<class C>(const Many<C>& many, int64_t before) {
//     launch(kernel<C>, many.chunks(), kThreads, many, partial + before);
//   });
//   const Chunk<C> chunk = many.chunk(blockIdx.x);                                  // device
//   read_row(chunk.n, chunk.packs, [&](int64_t, C v) { ... }, chunk.row);
#pragma once

#include "ops/many.h"
#include "ops/rows.cuh"

namespace plimsoll::cuda {

template <class C>
struct Chunk {
  Row<C> row;
  int64_t n;
  bool packs;
};

template <class C>
struct Many {
  static constexpr int kMost = 64;  // what the parameters of a kernel have room for
  int tensors = 0;
  Elements<C> of[kMost];
  int64_t count[kMost];
  int64_t begin[kMost + 1] = {};  // number of the first chunk of each
  bool packs[kMost];

  int64_t chunks() const { return begin[tensors]; }
  void add(const View& view) {
    of[tensors] = elements<C>(view);
    count[tensors] = plimsoll::count(view.shape());
    packs[tensors] = in_packs(view, count[tensors]);
    begin[tensors + 1] = begin[tensors] + chunks_of(view.meta);
    ++tensors;
  }
  __device__ Chunk<C> chunk(int64_t number) const {
    int k = 0;
    while (begin[k + 1] <= number) ++k;
    const int64_t first = (number - begin[k]) * kChunk, rest = count[k] - first;
    return {{of[k], first}, rest < kChunk ? rest : kChunk, packs[k]};
  }
};

// Calls f.template operator()<C>(many, chunks before it) for all views, floating ones, in order.
template <class F>
void for_many(std::span<const View> views, const F& f) {
  int64_t before = 0;
  for (size_t i = 0; i < views.size();)
    visit_floating_elements(views[i].dtype(), [&]<class C>() {
      Many<C> many;
      const auto fits = [](const View& view) {
        return (view.dtype() == DType::f64) == std::is_same_v<C, double>;
      };
      for (; i < views.size() && many.tensors < Many<C>::kMost && fits(views[i]); ++i)
        many.add(views[i]);
      if (many.chunks() > 0) f.template operator()<C>(many, before);
      before += many.chunks();
    });
}

}  // namespace plimsoll::cuda
