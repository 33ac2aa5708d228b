// What formulas use of the standard library, for NVRTC, which has no headers of one: it is given
// this one for each of <array>, <bit>, <cmath> and so on. No other compiler reads it.
#pragma once

using int8_t = signed char;
using int32_t = int;
using int64_t = long;
using uint8_t = unsigned char;
using uint16_t = unsigned short;
using uint32_t = unsigned;
using uint64_t = unsigned long;
using uintptr_t = unsigned long;

#define NAN __int_as_float(0x7fc00000)  // as the other compilers have it
#define INFINITY __int_as_float(0x7f800000)

namespace std {

using size_t = unsigned long;

template <bool B, class T, class F>
struct conditional {
  using type = T;
};
template <class T, class F>
struct conditional<false, T, F> {
  using type = F;
};
template <bool B, class T, class F>
using conditional_t = typename conditional<B, T, F>::type;

template <class A, class B>
constexpr bool is_same_v = false;
template <class A>
constexpr bool is_same_v<A, A> = true;
template <class A, class B>
concept same_as = is_same_v<A, B>;

template <class T, class... Ts>
constexpr bool is_one_of = (is_same_v<T, Ts> || ...);
template <class T>
constexpr bool is_floating_point_v = is_one_of<T, float, double>;
template <class T>
constexpr bool is_integral_v = is_one_of<T, bool, signed char, unsigned char, short, unsigned short,
                                         int, unsigned, long, unsigned long>;
template <class T>
constexpr bool is_signed_v = static_cast<T>(-1) < static_cast<T>(0);

template <class T>
struct Unsigned {
  using type = T;
};
template <>
struct Unsigned<int> {
  using type = unsigned;
};
template <>
struct Unsigned<long> {
  using type = unsigned long;
};
template <class T>
using make_unsigned_t = typename Unsigned<T>::type;

template <class To, class From>
constexpr To bit_cast(const From& from) {
  return __builtin_bit_cast(To, from);
}

template <class T, size_t N>
struct array {
  T elements[N];
  constexpr T& operator[](size_t i) { return elements[i]; }
  constexpr const T& operator[](size_t i) const { return elements[i]; }
};

template <class T>
struct numeric_limits {
  static constexpr int digits = sizeof(T) * 8 - is_signed_v<T>;
  static constexpr T max() { return static_cast<T>((uint64_t{1} << digits) - 1); }
  static constexpr T min() { return is_signed_v<T> ? static_cast<T>(-max() - 1) : T(0); }
};
template <>
struct numeric_limits<float> {
  static constexpr float infinity() { return __builtin_bit_cast(float, 0x7f800000); }
  static constexpr float quiet_NaN() { return __builtin_bit_cast(float, 0x7fc00000); }
};
template <>
struct numeric_limits<double> {
  static constexpr double infinity() { return __builtin_bit_cast(double, 0x7ff0000000000000); }
  static constexpr double quiet_NaN() { return __builtin_bit_cast(double, 0x7ff8000000000000); }
};

namespace numbers {
inline constexpr double sqrt2 = 1.4142135623730951;
inline constexpr double inv_sqrtpi = 0.56418958354775628;
}  // namespace numbers

// The functions are the compiler's own; here they get a type of their argument.
#define PLIMSOLL_OF_ONE(name)                            \
  constexpr float name(float x) { return ::name##f(x); } \
  constexpr double name(double x) { return ::name(x); }
PLIMSOLL_OF_ONE(exp)
PLIMSOLL_OF_ONE(log)
PLIMSOLL_OF_ONE(log1p)
PLIMSOLL_OF_ONE(expm1)
PLIMSOLL_OF_ONE(sin)
PLIMSOLL_OF_ONE(cos)
PLIMSOLL_OF_ONE(tanh)
PLIMSOLL_OF_ONE(erf)
PLIMSOLL_OF_ONE(sqrt)
PLIMSOLL_OF_ONE(trunc)
#undef PLIMSOLL_OF_ONE
constexpr float abs(float x) { return ::fabsf(x); }
constexpr double abs(double x) { return ::fabs(x); }
constexpr float copysign(float x, float sign) { return ::copysignf(x, sign); }
constexpr double copysign(double x, double sign) { return ::copysign(x, sign); }
constexpr float fma(float x, float y, float z) { return ::fmaf(x, y, z); }
constexpr float pow(float x, float y) { return ::powf(x, y); }
constexpr double pow(double x, double y) { return ::pow(x, y); }

#define PLIMSOLL_OPERATOR(name, sign)           \
  template <class = void>                       \
  struct name {                                 \
    template <class T>                          \
    constexpr auto operator()(T a, T b) const { \
      return a sign b;                          \
    }                                           \
  };
PLIMSOLL_OPERATOR(equal_to, ==)
PLIMSOLL_OPERATOR(not_equal_to, !=)
PLIMSOLL_OPERATOR(less, <)
PLIMSOLL_OPERATOR(less_equal, <=)
PLIMSOLL_OPERATOR(greater, >)
PLIMSOLL_OPERATOR(greater_equal, >=)
PLIMSOLL_OPERATOR(bit_and, &)
PLIMSOLL_OPERATOR(bit_or, |)
PLIMSOLL_OPERATOR(bit_xor, ^)
#undef PLIMSOLL_OPERATOR

}  // namespace std
