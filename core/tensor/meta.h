// Meta: what a tensor is, without its bytes. Shape rules and the planner see nothing else.
#pragma once

#include <vector>

#include "core/base/dtype.h"
#include "core/base/shape.h"

namespace plimsoll {

// Where memory lies and kernels run. `null` is a device that has no bytes: shapes are inferred and
// memory is counted, but nothing is stored or computed; the planner and its tests live there.
enum class Device : uint8_t { cpu, cuda, null };

const char* name_of(Device device);
inline void append_text(std::string& out, Device device) { out += name_of(device); }

struct Meta {
  Shape shape;
  DType dtype = DType::f32;
  Device device = Device::cpu;
  bool operator==(const Meta&) const = default;
};

using Metas = std::vector<Meta>;

void append_text(std::string& out, const Meta& meta);  // "f32 [2, 3] on cpu"

// Bytes of the elements alone.
int64_t bytes_of(const Meta& meta);

// Every block handed out by an allocator or placed by the planner starts and ends on this
// boundary: a cache line, and the width of an AVX-512 load.
constexpr int64_t kGranule = 64;

// Bytes a block really takes: rounded up to whole granules. An empty tensor takes none. Eager
// allocation and the planner both use this, which is why planned and measured bytes can be equal.
int64_t block_bytes(int64_t bytes);

// What memory is held for; statistics and plans are divided by it.
enum class MemoryClass : uint8_t {
  parameter,
  gathered,  // parameters of which ranks have parts, while they are whole
  gradient,
  optimizer,
  activation,
  workspace,
  input,
  cache,  // what attention has read: keys and values
  arena
};
constexpr int kMemoryClasses = 9;
const char* name_of(MemoryClass memory_class);

}  // namespace plimsoll
