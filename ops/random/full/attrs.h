// The constants of full().
#pragma once

#include <bit>

#include "core/tensor/meta.h"

namespace plimsoll {

struct FullAttrs {
  Meta meta;
  double value;
  // By its bits: a program that fills with NaN equals itself.
  bool operator==(const FullAttrs& other) const {
    return meta == other.meta &&
           std::bit_cast<uint64_t>(value) == std::bit_cast<uint64_t>(other.value);
  }
};

}  // namespace plimsoll
