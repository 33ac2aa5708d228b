// What is asked of the operands of an instruction, whoever rewrites or measures it.
#pragma once

#include "core/apply.h"
#include "core/program.h"

namespace plimsoll {

inline Metas metas_of(std::span<const Operand> operands) {
  Metas metas;
  for (const Operand& operand : operands) metas.push_back(operand.meta);
  return metas;
}

// What its kernel will see of an operand, but for the address.
inline View look_of(const Operand& operand) { return {nullptr, operand.meta, operand.strides}; }

// Bytes that its op asks for, for these operands.
inline int64_t workspace_of(const Instruction& instruction) {
  std::vector<View> in, out;
  for (const Operand& operand : instruction.in) in.push_back(look_of(operand));
  for (const Operand& operand : instruction.out) out.push_back(look_of(operand));
  return workspace_bytes(*instruction.op, {in, out, instruction.attrs, {}});
}

}  // namespace plimsoll
