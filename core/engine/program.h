// Program: a captured step as one straight line of instructions over numbered buffers. Everything
// the planner does is a pure function of it. View ops leave no instruction behind: an operand says
// how to look into its buffer.
#pragma once

#include "core/engine/module_scope.h"
#include "core/engine/op.h"
#include "core/tensor/storage.h"

namespace plimsoll {

struct Buffer {
  enum class Kind : uint8_t {
    input,     // given anew at each replay
    external,  // exists outside: parameters, optimizer state, constants; `storage` keeps it alive
    temporary  // made and used up inside; the planner gives it an address
  };
  Kind kind = Kind::temporary;
  int64_t bytes = 0;
  MemoryClass memory_class = MemoryClass::activation;
  std::shared_ptr<Storage> storage{};  // external only
  bool operator==(const Buffer&) const = default;
};

struct Operand {
  int buffer = -1;
  Meta meta;
  Strides strides;
  int64_t offset = 0;  // in elements
  bool operator==(const Operand&) const = default;
};

struct Instruction {
  const OpDef* op = nullptr;
  Attrs attrs{};
  std::vector<Operand> in{}, out{};
  int64_t workspace = 0;  // bytes
  ModuleName module = nullptr;
  bool operator==(const Instruction&) const = default;
};

struct Program {
  Device device = Device::cpu;
  std::vector<Buffer> buffers;
  std::vector<Instruction> instructions;
  std::vector<Operand> inputs, results;
  bool operator==(const Program&) const = default;
};

// Whether it makes a parameter whole of which ranks have parts. Of collectives it alone may run
// again, for ranks plan alike that train so (optim/ranks/shards.h).
inline bool gathers_parameters(const Program& program, const Instruction& instruction) {
  return instruction.op->collective && !instruction.op->collective->later &&
         !instruction.out.empty() &&
         program.buffers[instruction.out[0].buffer].memory_class == MemoryClass::gathered;
}

}  // namespace plimsoll
