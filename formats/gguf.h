// GGUF, version 3: what llama.cpp reads
// (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md). A header with fields and the names,
// shapes, types and places of tensors; their elements, each tensor on a boundary of 32 bytes. It is
// written here, not read.
//
//   write_gguf("model.gguf", {{"general.architecture", "llama"}},
//              {{"token_embd.weight", table, GgufType::q8_0}});
//
// Tensors are converted row by row while they are written. A block is 32 elements of a row:
//
//   q8_0   a scale d in f16, the largest magnitude / 127, and 32 whole numbers, nearest to x / d
//   q4_0   d is what is largest in magnitude / -8; 16 bytes with the nearest of x / d + 8, within
//          0 ... 15: of elements i and i + 16, the first in the lower half
//
// The bytes are those of llama.cpp's own quantisation (gguf.quants in its Python package).
#pragma once

#include <variant>

#include "core/tensor/named_tensor.h"
#include "formats/tensor_bytes.h"

namespace plimsoll::formats {

enum class GgufType : uint32_t { f32 = 0, f16 = 1, q4_0 = 2, q8_0 = 8 };
const char* name_of(GgufType type);  // "q4_0"

struct GgufField {
  std::string key;
  std::variant<uint32_t, float, bool, std::string, std::vector<std::string>, std::vector<int32_t>,
               std::vector<float>>
      value;
};

struct GgufTensor {
  std::string name;
  Tensor tensor;  // of a floating type
  GgufType type = GgufType::f32;
};

// Whether rows of this shape are whole blocks.
bool fits(const Shape& shape, GgufType type);

// Writes a file, not atomically. Errors: ValueError for a name twice, rows that are no whole
// blocks, what is no tensor of 1 to 4 axes of a floating type; NumericError for what is not finite,
// or not in f16; DataError when the disk is full.
void write_gguf(const std::filesystem::path& file, const std::vector<GgufField>& fields,
                const std::vector<GgufTensor>& tensors);

}  // namespace plimsoll::formats
