// Where two captures of the same function part ways. A captured step repeats what it was captured
// with; when a second capture differs, the function depends on a host value that has changed.
//
//   first_difference(before, now);     // "instruction 5 (scale): its attributes"; "" when equal
#pragma once

#include "core/engine/program.h"

namespace plimsoll {

// Constants are equal when their bytes are: each capture makes those inside the function anew.
std::string first_difference(const Program& before, const Program& now);

}  // namespace plimsoll
