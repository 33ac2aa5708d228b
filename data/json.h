// JSON objects of files that come from somewhere else, read strictly.
//
//   const nlohmann::json config = parse_object(read_text(path), {"config", path.string()});
//
// For .cpp files that include <nlohmann/json.hpp>: nobody else has to parse that.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace plimsoll::data {

struct JsonSource {
  std::string reader;  // begins the messages: "tokenizer"
  std::string name;    // of the file, or file and line
  int most_levels = 8;
  std::string advice = ". Use the file as it was published.";  // ends them
};

// An object and all in it. DataError: no JSON, keys that are there twice, what is nested deeper,
// numbers that no type holds.
nlohmann::json parse_object(std::string_view text, const JsonSource& source);

}  // namespace plimsoll::data
