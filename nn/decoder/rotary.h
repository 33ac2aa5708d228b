// The angles of rotary positions, with the ways in which they are stretched for longer sequences.
//
//   const RopeTables tables = nn::rotary_tables(2048, 64, {.base = 500000}, Device::cpu);
//
// Worked out in f32 in the order of Hugging Face's transformers (modeling_rope_utils.py), as the
// models were trained: at position 4096 other roundings would already be an angle of 2e-4.
#pragma once

#include "ops/attention/rope/rope.h"

namespace plimsoll::nn {

enum class RotaryScaling : uint8_t {
  none,
  linear,  // all frequencies divided by the factor (Chen et al., arXiv 2306.15595)
  llama3,  // the low ones, and in between a mixture (Llama 3.1)
  yarn,    // the same by turns within the original context (Peng et al., arXiv 2309.00071)
};

struct RotaryOptions {
  double base = 10000;
  RotaryScaling scaling = RotaryScaling::none;
  double factor = 1;
  int64_t original_context = 0;  // llama3, yarn: what it was before it was stretched
  double low = 1, high = 4;      // llama3: wavelengths in an original context, of either end
  double slow = 1, fast = 32;    // yarn: turns in an original context, of either end
  bool whole = true;             // yarn: the ends are whole numbers of pairs
  double magnitude = 1;          // what cos and sin are multiplied by

  bool operator==(const RotaryOptions&) const = default;
};

// Radians per position of each pair of features, the fastest first: [width / 2]. ValueError unless
// the width is even and positive, base above 1 and factor at least 1.
std::vector<float> rotary_frequencies(int64_t width, const RotaryOptions& options);

// cos and sin of positions 0 ... positions - 1: [positions, width / 2], f32.
RopeTables rotary_tables(int64_t positions, int64_t width, const RotaryOptions& options,
                         Device device);

}  // namespace plimsoll::nn
