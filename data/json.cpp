#include "data/json.h"

#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "core/base/error.h"
#include "data/file.h"

namespace plimsoll::data {

using Json = nlohmann::json;

Json parse_object(std::string_view text, const JsonSource& source) {
  const auto& [reader, name, most_levels, advice] = source;
  std::vector<std::set<std::string>> keys;  // of the objects that are open
  const auto hear = [&](int depth, Json::parse_event_t event, Json& value) {
    check<DataError>(depth <= most_levels, reader, ": the JSON is nested more than ", most_levels,
                     " deep: ", name, advice);
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key) {
      const auto& key = value.get_ref<const std::string&>();
      check<DataError>(keys.back().insert(key).second, reader, ": a key is there twice: ", name,
                       " has \"", shown(key), "\"", advice);
    }
    return true;
  };
  // The JSON library would take a NUL for the end of the text and skip a byte order mark.
  const size_t first = text.find_first_not_of(" \t\r\n");
  check<DataError>(first != text.npos && text[first] == '{' && text.find('\0') == text.npos, reader,
                   ": this is no JSON object: ", name, advice);
  try {
    return Json::parse(text.begin(), text.end(), hear);
  } catch (const Json::parse_error& e) {
    fail<DataError>(reader, ": the JSON cannot be read: ", name, " at byte ", e.byte, advice);
  } catch (const Json::out_of_range&) {
    fail<DataError>(reader, ": a number is too large: in ", name, advice);
  }
}

}  // namespace plimsoll::data
