#include "ops/common/dynamic_code.h"

namespace plimsoll {

DynamicCode::DynamicCode(bool is_signed) {
  for (int i = 0; i < 256; ++i) values_[i] = dynamic_code_value(i, is_signed);
  for (int i = 0; i < 255; ++i) middles_[i] = (values_[i] + values_[i + 1]) / 2;
  middles_[255] = 2;  // above all
  for (int32_t place = 0; place < kPlaces; ++place) {
    const int32_t from = std::min(kLowest + (place << 16), kHighest);
    // The least number of such a place, and the number below all of the same with a minus.
    const float least = place == 0 ? 0 : std::bit_cast<float>(from);
    const float below = from == kHighest ? -2 : -std::bit_cast<float>(from + (1 << 16));
    first_[place] =
        static_cast<int32_t>(std::lower_bound(middles_, middles_ + 255, least) - middles_);
    first_[kPlaces + place] =
        static_cast<int32_t>(std::upper_bound(middles_, middles_ + 255, below) - middles_);
  }
}

const DynamicCode& DynamicCode::of_signed() {
  static const DynamicCode code(true);
  return code;
}

const DynamicCode& DynamicCode::of_unsigned() {
  static const DynamicCode code(false);
  return code;
}

}  // namespace plimsoll
