// Epilogues: on a GPU a product and what follows it, by the rules of the ops
// (core/epilogue_rule.h), as one instruction: linear and gelu, the gradient of gelu and the sum
// over it, the gradients of a weight and a bias.
//
//   program = join_epilogues(std::move(program), epilogue_rules());
#pragma once

#include "core/epilogue_rule.h"

namespace plimsoll {

// Whatever follows comes forward to its product, where all that it reads is there by then. The plan
// of the result takes no more bytes than that of the program: what would is left as it was.
Program join_epilogues(Program program, std::span<const EpilogueRule> rules);

}  // namespace plimsoll
