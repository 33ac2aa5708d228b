// How quantised weights lie in memory, for the kernels of all devices.
#pragma once

#include <cstdint>

#include "ops/quantise/quantise/quantise.h"

namespace plimsoll {

struct QuantisedAttrs {
  Quantisation kind;
  Shape shape;
  DType dtype;  // of what is computed
  bool operator==(const QuantisedAttrs&) const = default;
};

namespace nf4 {

constexpr int64_t kBlock = 64;         // elements that share a scale
constexpr int64_t kScalesBlock = 256;  // scales that share one

// Quantiles of the normal distribution over [-1, 1] with an exact 0, by the table of QLoRA.
constexpr float value(int code) {
  constexpr float values[16] = {-1.0F,
                                -0.6961928009986877F,
                                -0.5250730514526367F,
                                -0.39491748809814453F,
                                -0.28444138169288635F,
                                -0.18477343022823334F,
                                -0.09105003625154495F,
                                0.0F,
                                0.07958029955625534F,
                                0.16093020141124725F,
                                0.24611230194568634F,
                                0.33791524171829224F,
                                0.44070982933044434F,
                                0.5626170039176941F,
                                0.7229568362236023F,
                                1.0F};
  return values[code];
}

inline int64_t blocks(const Shape& shape) { return (count(shape) + kBlock - 1) / kBlock; }

// The number of the nearest value; of the lower one of two. Without a branch, for simd loops.
constexpr int nearest(float x) {
  int at = 0;
  for (int i = 0; i < 15; ++i) at += (value(i) + value(i + 1)) / 2 < x;
  return at;
}

}  // namespace nf4

namespace int8 {

constexpr float kStep = 7.874015718698502e-3F;  // a 127th

}  // namespace int8

// The shapes and types of a weight's parts, in their order.
Metas part_metas(Quantisation kind, const Shape& shape, Device device);

// ShapeError or DTypeError, in the name of `op`, for parts that are not those of such a weight.
void check_parts(const char* op, std::span<const Meta> parts, const QuantisedAttrs& attrs);

}  // namespace plimsoll
