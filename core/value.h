// Value: a strided look into a storage. Nodes and programs hold values; users hold Tensors.
#pragma once

#include "core/storage.h"

namespace plimsoll {

struct Value {
  Meta meta;
  Strides strides;     // in elements; 0 repeats an element (broadcast)
  int64_t offset = 0;  // of the first element, in elements
  std::shared_ptr<Storage> storage;

  bool contiguous() const { return is_row_major(meta.shape, strides); }
};

// What a kernel sees of a value: the address of its first element and how to walk from there.
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
  bool contiguous() const { return is_row_major(meta.shape, strides); }
};

inline View view_of(const Value& value) {
  std::byte* base = value.storage->data();
  return {base ? base + value.offset * size_of(value.meta.dtype) : nullptr, value.meta,
          value.strides};
}

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
