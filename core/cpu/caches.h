// What the processor's caches hold, for those who measure: an op takes longer when what it reads
// was used long ago.
//
//   bring_near(data, bytes);          // as if an op had just made it
//   drop_from_caches(data, bytes);    // as if nobody had used it for a long time
#pragma once

#include <cstddef>
#include <cstdint>

namespace plimsoll {

// Bytes of the caches that the cores of all threads have for themselves (the second level).
int64_t cache_bytes();
// And of the one that all cores share (the third level); 0 where the system does not say.
int64_t shared_cache_bytes();

// Writes zeros, as ops write: all threads together, in pieces.
void bring_near(std::byte* data, int64_t bytes);
// Writes back what was changed and forgets it; does nothing but on x86.
void drop_from_caches(const std::byte* data, int64_t bytes);

}  // namespace plimsoll
