#include "examples/pictures/page.h"

#include "core/base/text.h"

namespace plimsoll::examples {

std::string page_with(std::string_view page, const Json& data) {
  const std::string_view mark = "@DATA@";
  const size_t at = page.find(mark);
  // It stands inside a script element: nothing in it may end the element.
  std::string json;
  for (const char c : data.dump(-1, ' ', false, Json::error_handler_t::replace))
    if (c == '<')
      json += "\\u003c";
    else
      json += c;
  return cat(page.substr(0, at), json, page.substr(at + mark.size()));
}

}  // namespace plimsoll::examples
