// What the codes of a quantised weight stand for, run by run: for kernels of the CPU that need not
// hold it whole.
//
//   const Decoder decoder(call.in.subspan(1), attrs);
//   decoder.decode(row, column, n, to);             // n elements of a row
#pragma once

#include "core/engine/call.h"
#include "ops/quantise/common/format.h"

namespace plimsoll {

class Decoder {
 public:
  Decoder(std::span<const View> parts, const QuantisedAttrs& attrs);
  void decode(int64_t row, int64_t column, int64_t n, float* to) const;
  void decode(int64_t row, int64_t column, int64_t n, double* to) const;  // of the same floats

 private:
  void decode_int8(int64_t first, int64_t n, float scale, float* to) const;
  void decode_nf4(int64_t first, int64_t n, float* to) const;
  float scale_of_block(int64_t block) const;

  Quantisation kind_;
  int64_t columns_;
  const uint8_t* codes_;
  const float* row_scales_ = nullptr;  // int8
  const uint8_t* scales_ = nullptr;    // nf4
  const float *block_scales_ = nullptr, *offset_ = nullptr;
};

}  // namespace plimsoll
