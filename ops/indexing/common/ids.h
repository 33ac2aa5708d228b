// Integer tensors that say where: element indices of index_select, gather, scatter_add, one_hot.
//
//   visit_ids(call.in[1], [&](const auto* id) { ... id[i] ... });
#pragma once

#include "core/tensor/value.h"

namespace plimsoll {

// Calls f with the address of the first id, i64 or i32.
template <class F>
decltype(auto) visit_ids(const View& ids, F&& f) {
  if (ids.dtype() == DType::i64) return f(static_cast<const int64_t*>(ids.as<int64_t>()));
  return f(static_cast<const int32_t*>(ids.as<int32_t>()));
}

inline void check_id_dtype(const char* op, const Meta& ids) {
  check<DTypeError>(ids.dtype == DType::i64 || ids.dtype == DType::i32, op,
                    ": the ids are not integers: ", ids, ". Cast them to i64 or i32.");
}

[[noreturn]] inline void fail_id(const char* op, int64_t position, int64_t id, int64_t size) {
  fail<IndexError>(op, ": an id is out of range: ", id, " at position ", position,
                   " for a size of ", size, ". Use ids from 0 and below ", size, ".");
}

// IndexError for the first id that is not from 0 and below `size`.
inline void check_ids(const char* op, const View& ids, int64_t size) {
  visit_ids(ids, [&](const auto* id) {
    for (int64_t i = 0; i < count(ids.shape()); ++i)
      if (id[i] < 0 || id[i] >= size) fail_id(op, i, id[i], size);
  });
}

}  // namespace plimsoll
