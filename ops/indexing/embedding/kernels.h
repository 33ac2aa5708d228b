// What the kernels of embedding share.
#pragma once

#include <cstdint>

namespace plimsoll::embedding_detail {

// IndexError: the one at `position` is no row.
[[noreturn]] void throw_bad_id(int64_t position, int64_t id, int64_t rows);

}  // namespace plimsoll::embedding_detail
