// Which op a product can take with it, so that one kernel does both: rules between two instructions
// of a captured step, which memory/fusion/epilogues.h applies. Ops state them (ops/linear), as the
// planner knows no op. A rule is a function, as types, strides and shapes decide; where names are
// enough, a table says it (core/combined_op.h).
#pragma once

#include <optional>

#include "core/program.h"

namespace plimsoll {

struct EpilogueRule {
  const OpDef *product, *after;  // `after` reads what the product writes, once, or what it reads
  // One instruction that writes what both do, without its workspace. Nothing where their operands
  // do not fit. kept: somebody besides `after` reads the product's first output: it is written.
  std::optional<Instruction> (*join)(const Instruction& product, const Instruction& after,
                                     bool kept);
};

// Of all ops. A joined instruction may be the product of another rule.
std::span<const EpilogueRule> epilogue_rules();

}  // namespace plimsoll
