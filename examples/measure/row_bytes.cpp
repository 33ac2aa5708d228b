#include "examples/measure/row_bytes.h"

#include <cstdio>

namespace plimsoll::examples {

std::string cell(int64_t bytes, int width, bool known) {
  char text[32];
  if (known)
    std::snprintf(text, sizeof text, "%*.2f", width, static_cast<double>(bytes) / (1 << 20));
  else
    std::snprintf(text, sizeof text, "%*s", width, "-");
  return text;
}

Json to_json(const BytesByClass& bytes) {
  Json classes;
  for (int c = 0; c < kMemoryClasses; ++c)
    classes[name_of(static_cast<MemoryClass>(c))] = bytes[static_cast<size_t>(c)];
  return classes;
}

}  // namespace plimsoll::examples
