#include "ops/common/broadcast.h"

namespace plimsoll {

template <size_t N>
Walk<N>::Walk(std::span<const View> in, const Shape& out) {
  std::array<Strides, N> all;
  for (size_t k = 0; k < N; ++k) all[k] = broadcast_strides(in[k], out);
  step.fill(0);
  int axis = out.rank() - 1;
  while (axis >= 0 && out[axis] == 1) --axis;
  if (axis < 0) return;  // a single element
  run = out[axis];
  for (size_t k = 0; k < N; ++k) step[k] = all[k][axis];
  for (--axis; axis >= 0; --axis) {
    const int64_t size = out[axis];
    if (size == 1) continue;
    bool merges = outer.rank() == 0;
    for (size_t k = 0; k < N; ++k) merges = merges && all[k][axis] == step[k] * run;
    if (merges) {
      run *= size;
    } else {
      outer.push_back(size);
      for (size_t k = 0; k < N; ++k) outer_step[k].push_back(all[k][axis]);
      rows *= size;
    }
  }
}

template <size_t N>
std::array<int64_t, N> Walk<N>::start(int64_t row) const {
  std::array<int64_t, N> at{};
  for (int axis = 0; axis < outer.rank(); ++axis) {
    const bool last = axis == outer.rank() - 1;  // which needs no division
    const int64_t index = last ? row : row % outer[axis];
    if (!last) row /= outer[axis];
    for (size_t k = 0; k < N; ++k) at[k] += index * outer_step[k][axis];
  }
  return at;
}

template struct Walk<2>;
template struct Walk<3>;

}  // namespace plimsoll
