// Bytes of a row, in its table and in its JSON.
#pragma once

#include <string>

#include "core/tensor/bytes.h"
#include "examples/common/report.h"

namespace plimsoll::examples {

// Mebibytes in a column of such a width; "-" where they are not known.
std::string cell(int64_t bytes, int width, bool known = true);

// By the names of the classes.
Json to_json(const BytesByClass& bytes);

}  // namespace plimsoll::examples
