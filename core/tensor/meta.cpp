#include "core/tensor/meta.h"

namespace plimsoll {

const char* name_of(Device device) {
  constexpr const char* kNames[] = {"cpu", "cuda", "null"};
  return kNames[static_cast<int>(device)];
}

const char* name_of(MemoryClass memory_class) {
  constexpr const char* kNames[kMemoryClasses] = {"parameters",      "gathered",    "gradients",
                                                  "optimizer state", "activations", "workspace",
                                                  "inputs",          "cache",       "arena"};
  return kNames[static_cast<int>(memory_class)];
}

void append_text(std::string& out, const Meta& meta) {
  append_text(out, meta.dtype);
  out += ' ';
  append_text(out, meta.shape);
  out += " on ";
  append_text(out, meta.device);
}

int64_t bytes_of(const Meta& meta) {
  return checked_mul(count(meta.shape), size_of(meta.dtype), "tensor bytes");
}

int64_t block_bytes(int64_t bytes) {
  return checked_add(bytes, kGranule - 1, "block bytes") / kGranule * kGranule;
}

}  // namespace plimsoll
