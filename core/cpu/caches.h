// What the processor's caches hold, for those who measure: an op takes longer when what it reads
// was used long ago.
//
//   bring_near(data, bytes);                // as if an op had just made it
//   demote_to_shared_cache(data, bytes);    // as if others had made something since
//   drop_from_caches(data, bytes);          // as if nobody had used it for a long time
#pragma once

#include <cstddef>
#include <cstdint>

namespace plimsoll {

// Bytes of the caches that the cores of all threads have for themselves (the second level).
int64_t cache_bytes();
// And of the one that all cores share (the third level); 0 where the system does not say. A virtual
// machine is told of all of it and has a part.
int64_t shared_cache_bytes();

// Writes zeros, as ops write: all threads together, in pieces.
void bring_near(std::byte* data, int64_t bytes);

// Whether this processor has an instruction that drops a line from the caches.
#if defined(__x86_64__)
constexpr bool kCanDropFromCaches = true;
#else
constexpr bool kCanDropFromCaches = false;
#endif

// Writes back what was changed and forgets it, where that can be done.
void drop_from_caches(const std::byte* data, int64_t bytes);

// Leaves it to the cache that all cores share, on processors that can be told to (CLDEMOTE); on
// others it stays where it is. A core does so with what it has itself, which need not be all that
// it is asked for: all threads together take the pieces that they took in bring_near(), mostly.
bool can_demote_to_shared_cache();
void demote_to_shared_cache(const std::byte* data, int64_t bytes);

}  // namespace plimsoll
