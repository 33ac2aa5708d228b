// exp and what is made of it, for vectorised loops: one branch-free polynomial in f32, where libm's
// scalar calls would stop the compiler from vectorising. In double they are libm's own.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace plimsoll::math {

// exp(x) = 2^n * exp(r) with n = round(x / ln 2), |r| <= ln(2) / 2 (Cody and Waite's reduction) and
// a Taylor polynomial of degree 7 for exp(r). Relative error below 1e-7; overflow gives infinity,
// underflow zero, NaN stays NaN.
inline float exp(float x) {
  const float low = -104.0f, high = 89.0f;
  const float clamped = x < low ? low : (x > high ? high : x);
  const float magic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  const float shifted = clamped * 1.44269504f + magic;
  const float n = shifted - magic;
  const float r = (clamped - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.0f / 5040;
  p = p * r + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  // 2^n in two halves, so that n = 128 overflows and n < -126 underflows as they should.
  const int32_t exponent = static_cast<int32_t>(std::bit_cast<uint32_t>(shifted) - 0x4b400000u);
  const int32_t half = exponent >> 1;
  const float scale1 = std::bit_cast<float>(static_cast<uint32_t>(half + 127) << 23);
  const float scale2 = std::bit_cast<float>(static_cast<uint32_t>(exponent - half + 127) << 23);
  return p * scale1 * scale2;
}
inline double exp(double x) { return std::exp(x); }

template <class T>
T sigmoid(T x) {
  return T(1) / (T(1) + exp(-x));
}

// tanh(x) = sign(x) (1 - e) / (1 + e) with e = exp(-2|x|). Near zero that cancels, and the Taylor
// series x - x^3/3 + 2x^5/15 - 17x^7/315 takes over.
inline float tanh(float x) {
  const float a = x < 0 ? -x : x;
  const float e = exp(-2 * a);
  const float large = (1 - e) / (1 + e);
  const float s = x * x;
  const float small = a * (1 + s * (-1.0f / 3 + s * (2.0f / 15 + s * (-17.0f / 315))));
  const float result = a < 0.15f ? small : large;
  return std::copysign(result, x);
}
inline double tanh(double x) { return std::tanh(x); }

}  // namespace plimsoll::math
