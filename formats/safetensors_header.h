// The header of a safetensors file, taken apart and checked.
//
//   const SafetensorsHeader header = parse_header(text, data_bytes, "model.safetensors");
#pragma once

#include <optional>
#include <string_view>

#include "formats/safetensors.h"

namespace plimsoll::formats {

// A type of the format and, where the engine has it, the engine's.
struct FileType {
  std::string_view name;
  uint64_t bits;
  std::optional<DType> dtype;
};
// In one table by alignment, as the reference implementation orders tensors (the last comes first).
const FileType& type_of(DType dtype);

struct FileTensor {
  const FileType* type = nullptr;
  std::vector<uint64_t> shape;
  uint64_t begin = 0, end = 0;  // in the data behind the header
};

struct SafetensorsHeader {
  std::map<std::string, FileTensor> tensors;
  std::vector<std::string> names;  // in the order of their bytes
  Metadata metadata;
};

constexpr std::string_view kMetadataName = "__metadata__";
constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // the reference implementation's limit
constexpr size_t kMaxFileAxes = 64;                // PyTorch's limit; NumPy has 64 too

// `data_bytes` follow the header in the file `path`. DataError.
SafetensorsHeader parse_header(std::string_view text, uint64_t data_bytes, const std::string& path);

// A name as JSON in ASCII, cut where it is long, for messages.
std::string in_quotes(std::string_view name);
// The header of a file that holds these tensors in this order. ValueError: text that is not UTF-8,
// or too much of it.
std::string header_text(std::span<const NamedTensor* const> tensors, const Metadata& metadata);

}  // namespace plimsoll::formats
