// Weights in 8 or 4 bits, for layers that are frozen: a quarter or an eighth of the bytes of f32.
//
//   Quantised w = quantise(weight, Quantisation::nf4);      // [O, I]
//   Tensor y = quantised_linear(x, w);                      // ops/quantise/quantised_linear
//   Tensor again = dequantise(w, DType::bf16);              // what the codes stand for
#pragma once

#include "core/tensor/tensor.h"

namespace plimsoll {

// int8: of each row the nearest of 255 evenly spaced numbers up to its largest magnitude. 1 byte an
//   element and 4 bytes a row.
// nf4: of each block of 64 elements, in row-major order, the nearest of 16 numbers that are about
//   equally often met in a normal distribution, times the block's largest magnitude. Those scales
//   are kept in 8 bits: less their mean, in blocks of 256, in the dynamic code
//   (ops/common/dynamic_code.h). 0.516 bytes an element.
// Sources: Dettmers, Lewis, Belkada and Zettlemoyer, "LLM.int8()", 2022; Dettmers, Pagnoni,
// Holtzman and Zettlemoyer, "QLoRA", 2023. The bytes are those of bitsandbytes.
enum class Quantisation { int8, nf4 };
const char* name_of(Quantisation kind);  // "nf4"

// A weight of `shape` [O, I] and what it is made of, as it lies in files of bitsandbytes.
struct Quantised {
  Quantisation kind = Quantisation::int8;
  Shape shape{};
  Tensor codes{};   // int8: u8 [O, I], two's complement; nf4: u8 [ceil(O I / 2)], the first high
  Tensor scales{};  // int8: f32 [O]; nf4: u8 [blocks]
  Tensor block_scales{};  // nf4: f32 [ceil(blocks / 256)], of the scales
  Tensor offset{};        // nf4: f32 [], the mean of the scales
};

// The parts that there are, in the order above.
std::vector<Tensor> parts_of(const Quantised& w);

// w [O, I] of a floating type, read as f32. Errors: ShapeError unless it is a matrix, DTypeError,
// NumericError for a NaN or an infinity.
Quantised quantise(const Tensor& w, Quantisation kind);

// What the codes stand for, in f32 rounded once to a floating `dtype`. Errors: ShapeError or
// DTypeError for parts that do not fit each other.
Tensor dequantise(const Quantised& w, DType dtype = DType::f32);

}  // namespace plimsoll
