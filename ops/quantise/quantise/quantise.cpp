#include "ops/quantise/quantise/quantise.h"

#include <bit>
#include <cmath>

#include "core/cpu/parallel.h"
#include "core/cuda/seam/cuda_kernel.h"
#include "core/engine/apply.h"
#include "ops/common/expect.h"
#include "ops/pointwise/arithmetic/arithmetic.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/quantise/common/decode.h"
#include "ops/quantise/quantise/kernels.h"
#include "ops/random/full/full.h"
#include "ops/reduction/sum/sum.h"
#include "ops/shape/view/view.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(quantise_int8_cuda);
PLIMSOLL_CUDA_KERNEL(quantise_nf4_cuda);
PLIMSOLL_CUDA_KERNEL(quantise_scales_cuda);
PLIMSOLL_CUDA_KERNEL(dequantise_cuda);

namespace {

// What is smaller has no factor in f32, and becomes 0.
constexpr float kSmallest = 1e-36F;

// The largest magnitude of n elements in f32, by their bits: those of a NaN are above all.
template <class T>
float largest_magnitude(const T* x, int64_t n, int64_t first) {
  uint32_t largest = 0;
#pragma omp simd reduction(max : largest)
  for (int64_t i = 0; i < n; ++i)
    largest = std::max(largest, std::bit_cast<uint32_t>(static_cast<float>(x[i])) & 0x7fffffffU);
  const float result = std::bit_cast<float>(largest);
  if (!std::isfinite(result)) throw_not_finite(first);
  return result;
}

// ---- int8: w [O, I] -> codes [O, I], scales [O]

Metas quantise_int8_infer(std::span<const Meta> in, const Attrs&) {
  return part_metas(Quantisation::int8, in[0].shape, in[0].device);
}

void quantise_int8_cpu(const Call& call) {
  const int64_t rows = call.in[0].shape()[0], columns = call.in[0].shape()[1];
  visit_floating("quantise", call.in[0].dtype(), [&]<class T>() {
    const T* w = call.in[0].as<T>();
    auto* codes = call.out[0].as<int8_t>();
    float* scales = call.out[1].as<float>();
    parallel_for(rows, grain_for(columns), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const T* from = w + row * columns;
        const float largest = largest_magnitude(from, columns, row * columns);
        // In this order, as bitsandbytes rounds halves by it.
        const float factor = largest > kSmallest ? 1 / largest * 127 : 0;
        scales[row] = largest;
#pragma omp simd
        for (int64_t i = 0; i < columns; ++i)
          codes[row * columns + i] =
              static_cast<int8_t>(std::nearbyint(static_cast<float>(from[i]) * factor));
      }
    });
  });
}

constexpr OpDef quantise_int8_op{.name = "quantise_int8",
                                 .infer = quantise_int8_infer,
                                 .cpu = quantise_int8_cpu,
                                 .cuda = quantise_int8_cuda};

// ---- nf4: w -> codes, and scales as they are, f32 [blocks]

Metas quantise_nf4_infer(std::span<const Meta> in, const Attrs&) {
  const Metas parts = part_metas(Quantisation::nf4, in[0].shape, in[0].device);
  return {parts[0], {parts[1].shape, DType::f32, in[0].device}};
}

template <class T>
void quantise_block(const T* w, int64_t n, float largest, bool last, uint8_t* codes) {
  uint8_t four_bits[nf4::kBlock + 1];
  // bitsandbytes multiplies by the reciprocal but for what is left after the last whole block.
  const float factor = 1 / std::max(largest, 1e-38F);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const auto x = static_cast<float>(w[i]);
    const float scaled = last ? x / std::max(largest, 1e-38F) : x * factor;
    four_bits[i] = static_cast<uint8_t>(nf4::nearest(scaled));
  }
  if (n % 2 == 1) four_bits[n] = static_cast<uint8_t>(nf4::nearest(0));
  for (int64_t i = 0; i < n; i += 2)
    codes[i / 2] = static_cast<uint8_t>(four_bits[i] << 4 | four_bits[i + 1]);
}

void quantise_nf4_cpu(const Call& call) {
  const int64_t n = count(call.in[0].shape()), blocks = count(call.out[1].shape());
  visit_floating("quantise", call.in[0].dtype(), [&]<class T>() {
    const T* w = call.in[0].as<T>();
    uint8_t* codes = call.out[0].as<uint8_t>();
    float* scales = call.out[1].as<float>();
    parallel_for(blocks, grain_for(nf4::kBlock), [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        const int64_t first = b * nf4::kBlock, size = std::min(nf4::kBlock, n - first);
        const float largest = largest_magnitude(w + first, size, first);
        const bool part = size < nf4::kBlock;
        scales[b] = part ? std::max(largest, 1e-38F) : largest;
        quantise_block(w + first, size, largest, part, codes + first / 2);
      }
    });
  });
}

constexpr OpDef quantise_nf4_op{.name = "quantise_nf4",
                                .infer = quantise_nf4_infer,
                                .cpu = quantise_nf4_cpu,
                                .cuda = quantise_nf4_cuda};

// ---- scales less their mean [blocks] -> codes [blocks], block_scales

Metas quantise_scales_infer(std::span<const Meta> in, const Attrs&) {
  const int64_t n = in[0].shape[0];
  return {{{n}, DType::u8, in[0].device},
          {{(n + nf4::kScalesBlock - 1) / nf4::kScalesBlock}, DType::f32, in[0].device}};
}

void quantise_scales_cpu(const Call& call) {
  const int64_t n = call.in[0].shape()[0];
  const float* x = call.in[0].as<float>();
  uint8_t* codes = call.out[0].as<uint8_t>();
  float* largest = call.out[1].as<float>();
  const DynamicCode& code = DynamicCode::of_signed();
  parallel_for(
      count(call.out[1].shape()), grain_for(nf4::kScalesBlock), [&](int64_t begin, int64_t end) {
        for (int64_t b = begin; b < end; ++b) {
          const int64_t first = b * nf4::kScalesBlock,
                        stop = std::min(n, first + nf4::kScalesBlock);
          largest[b] = largest_magnitude(x + first, stop - first, first);
          const float factor = largest[b] > kSmallest ? 1 / largest[b] : 0;
          for (int64_t i = first; i < stop; ++i)
            codes[i] = factor == 0
                           ? uint8_t{0}
                           : static_cast<uint8_t>(code.nearest(nf4::on_grid(x[i] * factor)));
        }
      });
}

constexpr OpDef quantise_scales_op{.name = "quantise_scales",
                                   .infer = quantise_scales_infer,
                                   .cpu = quantise_scales_cpu,
                                   .cuda = quantise_scales_cuda};

// ---- parts -> w

Metas dequantise_infer(std::span<const Meta> in, const Attrs& attrs) {
  const auto& [kind, shape, dtype] = attrs.as<QuantisedAttrs>();
  check_floating("dequantise", dtype);
  check_parts("dequantise", in, attrs.as<QuantisedAttrs>());
  return {{shape, dtype, in[0].device}};
}

void dequantise_cpu(const Call& call) {
  constexpr int64_t kRun = 1024;  // elements that pass through f32 at a time
  const auto& attrs = call.attrs.as<QuantisedAttrs>();
  const Decoder decoder(call.in, attrs);
  const int64_t columns = attrs.shape[1];
  visit_floating("dequantise", attrs.dtype, [&]<class T>() {
    T* w = call.out[0].as<T>();
    parallel_for(attrs.shape[0], grain_for(columns), [&](int64_t begin, int64_t end) {
      float run[kRun];
      for (int64_t row = begin; row < end; ++row)
        for (int64_t column = 0; column < columns; column += kRun) {
          const int64_t n = std::min(kRun, columns - column);
          decoder.decode(row, column, n, run);
          T* to = w + row * columns + column;
          for (int64_t i = 0; i < n; ++i) to[i] = static_cast<T>(run[i]);
        }
    });
  });
}

constexpr OpDef dequantise_op{.name = "dequantise",
                              .infer = dequantise_infer,
                              .cpu = dequantise_cpu,
                              .cuda = dequantise_cuda};

}  // namespace

void throw_not_finite(int64_t element) {
  fail<NumericError>("quantise: the weight holds NaN or infinity: soon after element ", element,
                     ". Look for it before it is quantised.");
}

const char* name_of(Quantisation kind) { return kind == Quantisation::int8 ? "int8" : "nf4"; }

Metas part_metas(Quantisation kind, const Shape& shape, Device device) {
  if (kind == Quantisation::int8)
    return {{shape, DType::u8, device}, {{shape[0]}, DType::f32, device}};
  const int64_t blocks = nf4::blocks(shape);
  return {{{(count(shape) + 1) / 2}, DType::u8, device},
          {{blocks}, DType::u8, device},
          {{(blocks + nf4::kScalesBlock - 1) / nf4::kScalesBlock}, DType::f32, device},
          {{}, DType::f32, device}};
}

void check_parts(const char* op, std::span<const Meta> parts, const QuantisedAttrs& attrs) {
  check<ShapeError>(attrs.shape.rank() == 2, op, ": the weight is not a matrix: ", attrs.shape,
                    ". Give it the shape [outputs, inputs].");
  const Metas wanted = part_metas(attrs.kind, attrs.shape, parts[0].device);
  check<ShapeError>(parts.size() == wanted.size(), op,
                    ": the number of parts is wrong: ", parts.size(), " of a weight in ",
                    name_of(attrs.kind), ", which has ", wanted.size(),
                    ". Pass what quantise() returned.");
  for (size_t i = 0; i < parts.size(); ++i) {
    check<DTypeError>(parts[i].dtype == wanted[i].dtype, op, ": part ", i, " of the weight is in ",
                      parts[i].dtype, ": ", wanted[i].dtype,
                      " is needed. Pass what quantise() "
                      "returned.");
    check<ShapeError>(parts[i].shape == wanted[i].shape, op, ": part ", i, " does not fit ",
                      attrs.shape, " in ", name_of(attrs.kind), ": got ", parts[i].shape, " for ",
                      wanted[i].shape, ". Pass what quantise() returned.");
  }
}

std::vector<Tensor> parts_of(const Quantised& w) {
  if (w.kind == Quantisation::int8) return {w.codes, w.scales};
  return {w.codes, w.scales, w.block_scales, w.offset};
}

Quantised quantise(const Tensor& w, Quantisation kind) {
  check_defined("quantise", w);
  check_floating("quantise", w.meta());
  check<ShapeError>(w.rank() == 2, "quantise: the weight is not a matrix: ", w.shape(),
                    ". Give it the shape [outputs, inputs].");
  const Tensor x = contiguous(w.detach());
  if (kind == Quantisation::int8) {
    const std::vector<Tensor> parts = apply(quantise_int8_op, {x});
    return {kind, w.shape(), parts[0], parts[1], {}, {}};
  }
  const std::vector<Tensor> parts = apply(quantise_nf4_op, {x});
  const Tensor& scales = parts[1];
  const Tensor offset =
      scales.count() > 0 ? mean(scales) : zeros({}, {DType::f32, scales.device()});
  const std::vector<Tensor> coded = apply(quantise_scales_op, {scales - offset});
  return {kind, w.shape(), parts[0], coded[0], coded[1], offset};
}

Tensor dequantise(const Quantised& w, DType dtype) {
  return apply(dequantise_op, parts_of(w), QuantisedAttrs{w.kind, w.shape, dtype}).front();
}

extern const std::vector<const OpDef*> quantise_ops{&quantise_int8_op, &quantise_nf4_op,
                                                    &quantise_scales_op, &dequantise_op};

}  // namespace plimsoll
