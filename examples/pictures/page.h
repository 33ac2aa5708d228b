// Pages of this folder: an HTML file with figures in it as JSON.
//
//   file.write(page_with(kMemoryPage, {{"title", "gpt"}}));
#pragma once

#include <string>
#include <string_view>

#include "examples/common/report.h"

namespace plimsoll::examples {

// The page with `data` in place of its @DATA@. Texts may hold any UTF-8.
std::string page_with(std::string_view page, const Json& data);

}  // namespace plimsoll::examples
