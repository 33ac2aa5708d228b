#include "ops/quantise/common/decode.h"

#include <array>
#include <cstring>
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "ops/common/dynamic_code.h"

namespace plimsoll {
namespace {

// The two values of each byte, the high half first.
constexpr auto kPairs = [] {
  std::array<std::array<float, 2>, 256> pairs{};
  for (int byte = 0; byte < 256; ++byte)
    pairs[static_cast<size_t>(byte)] = {nf4::value(byte >> 4), nf4::value(byte & 15)};
  return pairs;
}();
constexpr auto kValues = [] {
  std::array<float, 16> values{};
  for (size_t code = 0; code < 16; ++code) values[code] = nf4::value(static_cast<int>(code));
  return values;
}();

// Two elements from each of n bytes.
void decode_bytes(const uint8_t* codes, int64_t n, float scale, float* to) {
  int64_t i = 0;
#if defined(__AVX512F__)
  const __m512 values = _mm512_loadu_ps(kValues.data()), factor = _mm512_set1_ps(scale);
  for (; i + 8 <= n; i += 8) {
    uint64_t eight;
    std::memcpy(&eight, codes + i, sizeof eight);
    const __m512i bytes = _mm512_maskz_cvtepu8_epi64(0xff, _mm_set_epi64x(0, int64_t(eight)));
    // Of each 64-bit lane the lower half looks up the byte's high four bits, the upper half its low
    // ones: a look-up by 32-bit lanes takes the lowest four bits of each.
    const __m512i which = _mm512_maskz_or_epi64(0xff, _mm512_maskz_srli_epi64(0xff, bytes, 4),
                                                _mm512_maskz_slli_epi64(0xff, bytes, 32));
    _mm512_storeu_ps(to + 2 * i, _mm512_maskz_permutexvar_ps(0xffff, which, values) * factor);
  }
#endif
  for (; i < n; ++i) {
    to[2 * i] = kPairs[codes[i]][0] * scale;
    to[2 * i + 1] = kPairs[codes[i]][1] * scale;
  }
}

}  // namespace

Decoder::Decoder(std::span<const View> parts, const QuantisedAttrs& attrs)
    : kind_(attrs.kind), columns_(attrs.shape[1]), codes_(parts[0].as<uint8_t>()) {
  if (kind_ == Quantisation::int8) {
    row_scales_ = parts[1].as<float>();
  } else {
    scales_ = parts[1].as<uint8_t>();
    block_scales_ = parts[2].as<float>();
    offset_ = parts[3].as<float>();
  }
}

void Decoder::decode(int64_t row, int64_t column, int64_t n, float* to) const {
  const int64_t first = row * columns_ + column;
  if (kind_ == Quantisation::int8)
    decode_int8(first, n, row_scales_[row], to);
  else
    decode_nf4(first, n, to);
}

void Decoder::decode(int64_t row, int64_t column, int64_t n, double* to) const {
  constexpr int64_t kRun = 256;
  float run[kRun];
  for (int64_t i = 0; i < n; i += kRun) {
    const int64_t some = std::min(kRun, n - i);
    decode(row, column + i, some, run);
    std::copy_n(run, some, to + i);
  }
}

void Decoder::decode_int8(int64_t first, int64_t n, float scale, float* to) const {
  const auto* codes = reinterpret_cast<const int8_t*>(codes_ + first);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<float>(codes[i]) * scale * int8::kStep;
}

float Decoder::scale_of_block(int64_t block) const {
  float scale =
      DynamicCode::of_signed().value(scales_[block]) * block_scales_[block / nf4::kScalesBlock];
  asm("" : "+m"(scale));  // rounded before the sum: no fused multiply-add has these bits
  return scale + *offset_;
}

void Decoder::decode_nf4(int64_t first, int64_t n, float* to) const {
  for (const int64_t end = first + n; first < end;) {
    const int64_t block = first / nf4::kBlock;
    const int64_t stop = std::min(end, (block + 1) * nf4::kBlock);
    const float scale = scale_of_block(block);
    if (first % 2 == 1) *to++ = kPairs[codes_[first++ / 2]][1] * scale;
    const int64_t bytes = (stop - first) / 2;
    decode_bytes(codes_ + first / 2, bytes, scale, to);
    first += 2 * bytes;
    to += 2 * bytes;
    if (first < stop) *to++ = kPairs[codes_[first++ / 2]][0] * scale;
  }
}

}  // namespace plimsoll
