// Work in a process of its own, so that what it takes of the machine can be told from what was
// taken before it.
//
//   const Measured row = in_own_process<Measured>([&] { return measure(c); });
//
// The process is a copy of this one, which must have started no thread.
#pragma once

#include <cstring>
#include <functional>
#include <string>
#include <type_traits>

#include "core/base/error.h"

namespace plimsoll::examples {

// Bytes of this process that are in memory now, and the most that ever were: Linux's VmRSS and
// VmHWM, exact to about a hundred pages. 0 on systems that do not say.
int64_t resident();
int64_t peak_resident();

// Gives what has been freed back to the system and forgets the peak, so that whatever is taken from
// now on shows in peak_resident(). Returns resident().
int64_t begin_growth();

// What `work` returned there. Its UsageError, DataError and std::bad_alloc come out here as such,
// any other error as Error, a process that was killed as OutOfMemory.
std::string bytes_of_own_process(const std::function<std::string()>& work);

template <class Result>
Result in_own_process(const std::function<Result()>& work) {
  static_assert(std::is_trivially_copyable_v<Result>);
  const std::string bytes = bytes_of_own_process([&] {
    const Result result = work();
    return std::string(reinterpret_cast<const char*>(&result), sizeof result);
  });
  check<Error>(bytes.size() == sizeof(Result), "process: its result is not whole: ", bytes.size(),
               " bytes of ", sizeof(Result), ". Look at what ended it.");
  Result result;
  std::memcpy(&result, bytes.data(), sizeof result);
  return result;
}

}  // namespace plimsoll::examples
