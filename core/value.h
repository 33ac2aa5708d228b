// Value: a strided look into a storage. Nodes and programs hold values; users hold Tensors.
#pragma once

#include "core/storage.h"
#include "core/view.h"

namespace plimsoll {

struct Value {
  Meta meta;
  Strides strides;     // in elements; 0 repeats an element (broadcast)
  int64_t offset = 0;  // of the first element, in elements
  std::shared_ptr<Storage> storage;

  bool contiguous() const { return is_row_major(meta.shape, strides); }
};

inline View view_of(const Value& value) {
  std::byte* base = value.storage->data();
  return {base ? base + value.offset * size_of(value.meta.dtype) : nullptr, value.meta,
          value.strides};
}

}  // namespace plimsoll
