// Tensors in memory that others have made: a mapped file, the memory of another library.
//
//   const Tensor weight = foreign_tensor(meta, address, file);    // `file` lives as long as it
//
// No pool counts it, and an allocator for it is one storage long: where the storage goes, so does
// the owner.
#pragma once

#include "core/tensor/tensor.h"

namespace plimsoll {

// A row-major tensor on the cpu. `data` has all its elements and begins on a boundary of their
// type; what is not to be written must be given to nothing that writes in place.
Tensor foreign_tensor(const Meta& meta, const void* data, std::shared_ptr<const void> owner);

// The storage of such a tensor: `bytes` of memory.
std::shared_ptr<Storage> foreign_storage(const void* data, int64_t bytes,
                                         std::shared_ptr<const void> owner);

}  // namespace plimsoll
