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

}  // namespace plimsoll
