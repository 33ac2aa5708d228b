// exp and what is made of it, for vectorised loops: one branch-free polynomial in f32, where libm's
// scalar calls would stop the compiler from vectorising. In double they are libm's own. constexpr,
// so that kernels for a GPU can call them too: a template may be where its body cannot.
#pragma once

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>

namespace plimsoll::math {

// x = n ln 2 + r with n = round(x / ln 2), |r| <= ln(2) / 2: Cody and Waite's reduction, ln 2 in
// two parts. `shifted` is n + 1.5 * 2^23, whose low bits are those of n.
struct Reduced {
  float shifted, r;
};
constexpr Reduced reduced(float x) {
  const float magic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  const float shifted = x * 1.44269504f + magic;
  const float n = shifted - magic;
  return {shifted, (x - n * 0.693359375f) + n * 2.12194440e-4f};
}

// (exp(r) - 1 - r) / r^2 by the Taylor polynomial of degree 5: of degree 7 for exp(r).
constexpr float exp_tail(float r) {
  float p = r * (1.0f / 5040) + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  return p * r + 0.5f;
}

// p * 2^n, in two halves, so that n = 128 overflows and n < -126 underflows as they should.
constexpr float times_power(float p, int32_t n) {
  const int32_t half = n >> 1;
  return p * std::bit_cast<float>(static_cast<uint32_t>(half + 127) << 23) *
         std::bit_cast<float>(static_cast<uint32_t>(n - half + 127) << 23);
}
constexpr int32_t integer_in(float shifted) {
  return static_cast<int32_t>(std::bit_cast<uint32_t>(shifted) - 0x4b400000u);
}

// exp(x) = 2^n exp(r). Relative error below 1e-7; overflow gives infinity, underflow zero, NaN
// stays NaN.
constexpr float exp(float x) {
  const float low = -104.0f, high = 89.0f;
  const auto [shifted, r] = reduced(x < low ? low : (x > high ? high : x));
  const float p = (exp_tail(r) * r + 1.0f) * r + 1.0f;
  return times_power(p, integer_in(shifted));
}
template <std::same_as<double> T>
constexpr T exp(T x) {
  return std::exp(x);
}

// The same for x <= 88, as after a maximum has been subtracted: a third less work, because 2^n
// needs no halves. Results below 2^-126 are zero: the bits of 2^-127 would be those of 0.
constexpr float exp_of_negative(float x) {
  const float low = -88.0f;
  const auto [shifted, r] = reduced(x < low ? low : x);
  const float p = (exp_tail(r) * r + 1.0f) * r + 1.0f;
  return p * std::bit_cast<float>((std::bit_cast<uint32_t>(shifted) + 127) << 23);
}
template <std::same_as<double> T>
constexpr T exp_of_negative(T x) {
  return std::exp(x);
}

// log(x) for x = 2^n m with m in [sqrt(1/2), sqrt(2)) is n ln 2 + log(m), and with f = m - 1 and
// s = f / (2 + f) log(m) = 2 (s + s^3/3 + s^5/5 + ...) = f - s (f - (2/3) s^2 - (2/5) s^4 - ...)
// (Abramowitz and Stegun 4.1.27), where f is exact. Relative error below 1e-7; log(0) = -inf,
// log(x < 0) = NaN, infinity and NaN stay; subnormal numbers are scaled up first.
constexpr float log(float x) {
  const bool tiny = x < 1.17549435e-38f;
  const uint32_t word = std::bit_cast<uint32_t>(tiny ? x * 0x1p23f : x) - 0x3f3504f3u;  // sqrt(1/2)
  const float n = static_cast<float>((static_cast<int32_t>(word) >> 23) - (tiny ? 23 : 0));
  const float f = std::bit_cast<float>((word & 0x007fffffu) + 0x3f3504f3u) - 1;
  const float s = f / (2 + f), q = s * s;
  const float series = q * (2.0f / 3 + q * (2.0f / 5 + q * (2.0f / 7 + q * (2.0f / 9))));
  const float result = n * 0.693359375f + (f - s * (f - series) - n * 2.12194440e-4f);
  const float limit = x < 0 ? NAN : (x == 0 ? -INFINITY : x);
  return x > 0 && x < INFINITY ? result : limit;
}
template <std::same_as<double> T>
constexpr T log(T x) {
  return std::log(x);
}

template <class T>
constexpr T sigmoid(T x) {
  return T(1) / (T(1) + exp(-x));
}

// tanh(x) = sign(x) (1 - e) / (1 + e) with e = exp(-2|x|). Near zero that cancels, and the Taylor
// series x - x^3/3 + 2x^5/15 - 17x^7/315 takes over.
constexpr float tanh(float x) {
  const float a = x < 0 ? -x : x;
  const float e = exp_of_negative(-2 * a);
  const float large = (1 - e) / (1 + e);
  const float s = x * x;
  const float small = a * (1 + s * (-1.0f / 3 + s * (2.0f / 15 + s * (-17.0f / 315))));
  const float result = a < 0.15f ? small : large;
  return std::copysign(result, x);
}
template <std::same_as<double> T>
constexpr T tanh(T x) {
  return std::tanh(x);
}

// erf(x) = 2 / sqrt(pi) * integral of exp(-t^2) from 0 to x. Up to |x| = 1 it is x + x q(x^2),
// beyond 1 - exp(p(|x|)). Both polynomials were found for this file with Remez' exchange algorithm
// and are off by less than 2e-8: q of degree 5 for erf(x) / x - 1 on [0, 1], p of degree 5 for
// log(1 - erf) on [1, 4]. With the rounding of f32 the absolute error is below 1e-7. erf(NaN) =
// NaN.
constexpr float erf(float x) {
  const float a = x < 0 ? -x : x;
  const float s = x * x;
  float q = -5.46292825e-4f;
  q = q * s + 4.87070333e-3f;
  q = q * s - 2.66638101e-2f;
  q = q * s + 1.12780642e-1f;
  q = q * s - 3.76119390e-1f;
  q = q * s + 1.28378922e-1f;
  const float small = a + a * q;
  const float b = a > 4.0f ? 4.0f : a;  // 1 - erf(4) is 1.5e-8: nothing in f32
  float p = -1.15041900e-3f;
  p = p * b + 1.47780968e-2f;
  p = p * b - 8.86341067e-2f;
  p = p * b - 6.54489043e-1f;
  p = p * b - 1.11743842f;
  p = p * b - 2.67172097e-3f;
  const float large = 1 - exp_of_negative(p);
  const float result = a < 1.0f ? small : large;
  return std::copysign(result, x);
}
template <std::same_as<double> T>
constexpr T erf(T x) {
  return std::erf(x);
}

// log(1 + e) for e in [0, 1] is 2 (s + s^3/3 + s^5/5 + ...) with s = e / (2 + e) <= 1/3
// (Abramowitz and Stegun 4.1.27). 1 + e, which would drop the digits of a small e, is never formed.
// The series is cut where the rest is below 2e-8 of the sum.
constexpr float log_one_plus(float e) {
  const float s = e / (2 + e), q = s * s;
  float p = 1.0f / 13;
  p = p * q + 1.0f / 11;
  p = p * q + 1.0f / 9;
  p = p * q + 1.0f / 7;
  p = p * q + 1.0f / 5;
  p = p * q + 1.0f / 3;
  p = p * q + 1.0f;
  return 2 * s * p;
}
template <std::same_as<double> T>
constexpr T log_one_plus(T e) {
  return std::log1p(e);
}

// exp(x) - 1 without the cancellation near 0: with the reduction of exp, 2^n exp(r) - 1 is
// 2^n (p + (1 - 2^-n)), where p = exp(r) - 1 comes from its Taylor series without forming the 1.
// Relative error below 3e-7.
constexpr float expm1(float x) {
  const float low = -18.0f, high = 89.0f;  // exp(-18) is 1.5e-8: nothing beside 1 in f32
  const auto [shifted, r] = reduced(x < low ? low : (x > high ? high : x));
  const float p = exp_tail(r) * r * r + r;
  const int32_t n = integer_in(shifted);
  const int32_t capped = n > 30 ? 30 : n;  // 2^-30 is nothing beside 1 either
  const float inverse = std::bit_cast<float>(static_cast<uint32_t>(127 - capped) << 23);  // 2^-n
  return times_power(p + (1 - inverse), n);
}
template <std::same_as<double> T>
constexpr T expm1(T x) {
  return std::expm1(x);
}

// sin(x) and cos(x) = sin(x + pi / 2) in f32, for |x| <= kSinReach: absolute error below 1e-7;
// beyond that a loop must take the functions of double, which are libm's. With n = round(2x / pi)
// and r = x - n pi / 2, |r| <= pi / 4, it is sin(r) or cos(r), with a sign, as n mod 4 says. pi / 2
// is subtracted in three parts (Cody and Waite), the first two of 11 bits, so that their products
// with n < 2^13 are exact. Taylor series of degree 9 and 8.
constexpr float kSinReach = 12800.0f;
constexpr float sin_quadrant(float x, int32_t quarter_turns) {
  const float magic = 12582912.0f;  // as in reduced
  const float shifted = x * 0.636619772f + magic;
  const float n = shifted - magic;
  const float r = ((x - n * 0x1.92p+0f) - n * 0x1.fb4p-12f) - n * 0x1.4442d2p-24f;
  const float s = r * r;
  float odd = 1.0f / 362880;
  odd = odd * s - 1.0f / 5040;
  odd = odd * s + 1.0f / 120;
  odd = odd * s - 1.0f / 6;
  odd = odd * s * r + r;
  float even = 1.0f / 40320;
  even = even * s - 1.0f / 720;
  even = even * s + 1.0f / 24;
  even = even * s - 0.5f;
  even = even * s + 1.0f;
  const uint32_t turns = std::bit_cast<uint32_t>(shifted) + static_cast<uint32_t>(quarter_turns);
  const float result = (turns & 1) != 0 ? even : odd;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(result) ^ ((turns & 2) << 30));
}
constexpr float sin(float x) { return sin_quadrant(x, 0); }
constexpr float cos(float x) { return sin_quadrant(x, 1); }
template <std::same_as<double> T>
constexpr T sin(T x) {
  return std::sin(x);
}
template <std::same_as<double> T>
constexpr T cos(T x) {
  return std::cos(x);
}

}  // namespace plimsoll::math
