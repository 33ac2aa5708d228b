// The label of what counts in no loss and no score: of padding, and of text that is only read.
#pragma once

#include <cstdint>

namespace plimsoll {

constexpr int64_t kIgnoredLabel = -100;  // as in PyTorch

}  // namespace plimsoll
