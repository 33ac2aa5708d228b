// The dynamic code of 8 bits: 256 numbers of [-1, 1], or of [0, 1], that lie close together near 0.
// Seven decades of evenly spaced numbers, each decade with twice as many as the one below it, with
// 0 and 1. Blocks of numbers are divided by their largest magnitude and kept as the nearest of
// these.
//
//   const DynamicCode& code = DynamicCode::of_signed();
//   uint8_t c = code.nearest(x / largest);
//   float y = code.value(c) * largest;
//
// Source: Dettmers, "8-Bit Approximations for Parallelism in Deep Learning", 2016. The numbers and
// the way to the nearest are bitsandbytes', whose files can be read so.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace plimsoll {

// Number `index` of the code, in ascending order: 0 is number 127 of the signed one, 0 of the
// other.
constexpr float dynamic_code_value(int index, bool is_signed) {
  if (index == 255) return 1;
  const int distance = is_signed ? (index < 127 ? 127 - index : index - 127) : index;  // from 0
  if (distance == 0) return 0;
  const auto place = static_cast<unsigned>(is_signed ? distance : distance + 1);
  const int width = std::bit_width(place) - 1;  // log2 of how many the decade has
  const int numbers = 1 << width, among = static_cast<int>(place) - numbers;
  // Edges of even pieces of [0.1, 1], counted from the nearer end and rounded once each: so the
  // numbers have the bits of torch.linspace.
  const float step = (1.0F - 0.1F) / static_cast<float>(numbers);
  const auto edge = [=](int i) {
    return i < (numbers + 1) / 2 ? static_cast<float>(0.1F + double{step} * i)
                                 : static_cast<float>(1 - double{step} * (numbers - i));
  };
  constexpr float powers[] = {1e-6F, 1e-5F, 1e-4F, 1e-3F, 1e-2F, 1e-1F, 1};
  const float value = powers[is_signed ? width : width - 1] * ((edge(among) + edge(among + 1)) / 2);
  return is_signed && index < 127 ? -value : value;
}

// The number of the value nearest to x, of the lower one of two.
constexpr int dynamic_code_nearest(float x, bool is_signed) {
  int at = 0;
  for (int step = 128; step > 0; step /= 2) {
    const int low = at + step - 1;
    const bool above =
        low < 255 &&
        (dynamic_code_value(low, is_signed) + dynamic_code_value(low + 1, is_signed)) / 2 < x;
    at += above ? step : 0;
  }
  return at;
}

// The same by tables, for the loops of a CPU.
class DynamicCode {
 public:
  static const DynamicCode& of_signed();
  static const DynamicCode& of_unsigned();

  float value(int code) const { return values_[code]; }
  // Without a branch, for simd loops.
  int nearest(float x) const {
    const auto bits = std::bit_cast<int32_t>(x);
    const int32_t place = (std::clamp(bits & 0x7fffffff, kLowest, kHighest) - kLowest) >> 16 |
                          (bits < 0 ? kPlaces : 0);
    return first_[place] + (middles_[first_[place]] < x);
  }

 private:
  explicit DynamicCode(bool is_signed);

  // Numbers whose sign, exponent and first seven bits are the same have two nearest values at most:
  // first_ has the lower one. Magnitudes run from 2^-23 to 1.
  static constexpr int32_t kLowest = 0x34000000, kHighest = 0x3f800000, kPlaces = 4096;
  float values_[256], middles_[256];  // middles_[i] lies between values i and i + 1
  int32_t first_[2 * kPlaces];
};

}  // namespace plimsoll
