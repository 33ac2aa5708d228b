#include "ops/pointwise.h"

namespace plimsoll {
namespace {

// Strides of `view` against the broadcast shape: 0 where it repeats.
Strides broadcast_strides(const View& view, const Shape& out) {
  Strides strides = out;
  const int shift = out.rank() - view.shape().rank();
  for (int axis = 0; axis < out.rank(); ++axis) {
    const int own = axis - shift;
    strides[axis] = own < 0 || view.shape()[own] == 1 ? 0 : view.strides[own];
  }
  return strides;
}

}  // namespace

PairWalk::PairWalk(const View& a, const View& b, const Shape& out) {
  const Strides a_all = broadcast_strides(a, out), b_all = broadcast_strides(b, out);
  int axis = out.rank() - 1;
  while (axis >= 0 && out[axis] == 1) --axis;
  if (axis < 0) return;  // a single element
  run = out[axis];
  a_step = a_all[axis];
  b_step = b_all[axis];
  for (--axis; axis >= 0; --axis) {
    const int64_t size = out[axis];
    if (size == 1) continue;
    if (outer.rank() == 0 && a_all[axis] == a_step * run && b_all[axis] == b_step * run) {
      run *= size;
    } else {
      outer.push_back(size);
      a_outer.push_back(a_all[axis]);
      b_outer.push_back(b_all[axis]);
      rows *= size;
    }
  }
}

std::pair<int64_t, int64_t> PairWalk::start(int64_t row) const {
  int64_t at_a = 0, at_b = 0;
  for (int axis = 0; axis < outer.rank(); ++axis) {  // innermost first
    const int64_t index = row % outer[axis];
    row /= outer[axis];
    at_a += index * a_outer[axis];
    at_b += index * b_outer[axis];
  }
  return {at_a, at_b};
}

Metas infer_binary(const char* name, std::span<const Meta> in) {
  check<DTypeError>(in[0].dtype == in[1].dtype, name, ": the types differ: ", in[0].dtype, " and ",
                    in[1].dtype, ". Cast one of them.");
  check<DTypeError>(is_floating(in[0].dtype), name, ": a floating type is needed: got ",
                    in[0].dtype, ". Cast it first.");
  return {{broadcast(name, in[0].shape, in[1].shape), in[0].dtype, in[0].device}};
}

}  // namespace plimsoll
