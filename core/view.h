// View: what a kernel sees of a value: the address of its first element and how to walk from there.
#pragma once

#include "core/meta.h"

namespace plimsoll {

struct View {
  void* data = nullptr;
  Meta meta;
  Strides strides;

  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
  const Shape& shape() const { return meta.shape; }
  DType dtype() const { return meta.dtype; }
  Device device() const { return meta.device; }
  bool contiguous() const { return is_row_major(meta.shape, strides); }
};

// Strides of a view against a shape it broadcasts to: 0 where it repeats.
inline Strides broadcast_strides(const View& view, const Shape& to) {
  Strides strides = to;
  const int shift = to.rank() - view.shape().rank();
  for (int axis = 0; axis < to.rank(); ++axis) {
    const int own = axis - shift;
    strides[axis] = own < 0 || view.shape()[own] == 1 ? 0 : view.strides[own];
  }
  return strides;
}

}  // namespace plimsoll
