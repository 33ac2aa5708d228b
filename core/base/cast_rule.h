// What autocast does to the inputs of an op: part of OpDef (core/engine/op.h) and of formulas.
#pragma once

#include <cstdint>

namespace plimsoll {

// What autocast (autograd/autocast.h) makes of an op's floating inputs, f64 apart, before it runs.
enum class CastRule : uint8_t {
  keep,   // nothing: the op takes 16 bits, and computes and adds up in f32 by itself
  low,    // all to the scope's 16-bit type: products
  full,   // all to f32: sums, and functions that amplify rounding
  widest  // all to the widest type among them: arithmetic
};

}  // namespace plimsoll
