// Json: figures on their way into a file, with their names in the order they were written.
#pragma once

#include <nlohmann/json.hpp>

namespace plimsoll::train {

using Json = nlohmann::ordered_json;

}  // namespace plimsoll::train
