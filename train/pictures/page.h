// How the pages of this folder get their figures.
#pragma once

#include <string>
#include <string_view>

#include "train/json.h"

namespace plimsoll::train {

// The page with `data` in place of its @DATA@. Texts may hold any UTF-8.
std::string page_with(std::string_view page, const Json& data);

}  // namespace plimsoll::train
