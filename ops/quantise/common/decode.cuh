// What the codes of a quantised weight stand for, element by element: ops/quantise/common/decode.h
// on a GPU.
#pragma once

#include "core/cuda/elements.cuh"
#include "core/cuda/launch.cuh"
#include "core/engine/call.h"
#include "ops/common/dynamic_code.h"
#include "ops/quantise/common/format.h"

namespace plimsoll::cuda {

struct DeviceDecoder {
  Quantisation kind;
  int64_t columns;
  const uint8_t *codes, *scales;
  const float *row_scales, *block_scales, *offset;

  DeviceDecoder(std::span<const View> parts, const QuantisedAttrs& attrs)
      : kind(attrs.kind),
        columns(attrs.shape[1]),
        codes(parts[0].as<uint8_t>()),
        scales(parts[1].as<uint8_t>()),
        row_scales(parts[1].as<float>()),
        block_scales(parts.size() > 2 ? parts[2].as<float>() : nullptr),
        offset(parts.size() > 3 ? parts[3].as<float>() : nullptr) {}

  // Element i in row-major order.
  __device__ float get(int64_t i) const {
    if (kind == Quantisation::int8)
      return static_cast<float>(static_cast<int8_t>(codes[i])) * row_scales[i / columns] *
             int8::kStep;
    const int64_t block = i / nf4::kBlock;
    const float scale = __fmul_rn(dynamic_code_value(scales[block], true),
                                  block_scales[block / nf4::kScalesBlock]) +
                        *offset;
    return nf4::value(codes[i / 2] >> (i % 2 == 0 ? 4 : 0) & 15) * scale;
  }
};

template <class C>
__global__ void dequantise_kernel(DeviceDecoder w, Elements<C> to, int64_t n) {
  for (int64_t i = first_index(); i < n; i += total_threads()) to.set(i, static_cast<C>(w.get(i)));
}

// All of a weight, as `to` [O, I], of any floating type.
inline void dequantise(std::span<const View> parts, const QuantisedAttrs& attrs, const View& to) {
  const int64_t n = count(attrs.shape);
  if (n == 0) return;
  visit_floating_elements(to.dtype(), [&]<class C>() {
    launch(dequantise_kernel<C>, blocks_for(n), kThreads, DeviceDecoder(parts, attrs),
           elements<C>(to), n);
  });
}

}  // namespace plimsoll::cuda
