// The same targets for libFuzzer, which comes with clang: coverage leads it where chance does not.
#include <cstdint>

#include "tests/fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  plimsoll::fuzz::reads({reinterpret_cast<const char*>(data), size});
  return 0;
}
