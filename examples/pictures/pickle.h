// JSON as a Python pickle (protocol 2): null, booleans, whole numbers, strings, lists and dicts.
//
//   file.write(pickle({{"segments", Json::array()}}));       // pickle.load() gives {"segments": []}
//
// Source: the opcodes of CPython's pickletools.
#pragma once

#include "examples/common/report.h"

namespace plimsoll::examples {

// ValueError for numbers that are not whole and for bytes.
std::string pickle(const Json& json);

}  // namespace plimsoll::examples
