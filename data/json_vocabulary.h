// The one form of JSON that a vocabulary has: {"token": id, ...}.
//
//   parse_json_vocabulary(R"({"a": 0, "\u0120b": 1})", "vocab.json");   // {{"a", 0}, {"Ġb", 1}}
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace plimsoll::data {

// The pairs in the order of the file. DataError naming the byte where the text is no JSON, or the
// token whose value is no whole number from 0 to 2^31 - 1.
std::vector<std::pair<std::string, int64_t>> parse_json_vocabulary(const std::string& json,
                                                                   const std::string& name);

}  // namespace plimsoll::data
