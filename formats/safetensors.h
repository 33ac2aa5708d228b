// Safetensors: named tensors in one file that PyTorch, JAX and most tools read
// (https://huggingface.co/docs/safetensors). 8 bytes with the length of a header; the header, JSON
// that gives dtype, shape and place of every tensor; their elements, row-major.
//
//   write_safetensors("model.safetensors", tensors, {{"format", "pt"}});
//   const Safetensors file("model.safetensors");
//   for (const std::string& name : file.names()) Tensor tensor = file.tensor(name);
//
// Reading trusts nothing. The whole header is checked when a file is opened: its length, JSON with
// no name twice and nothing else than belongs there, sizes that neither overflow nor disagree with
// the places, places that cover the data without hole or overlap. What is allocated is never more
// than a small multiple of the header, which exists; the elements are mapped, and copied when
// asked for. One thing is read that the format's text forbids: white space before the header's
// "{", because the reference implementation reads it.
#pragma once

#include <map>
#include <memory>

#include "core/tensor/named_tensor.h"
#include "formats/tensor_bytes.h"

namespace plimsoll::data {
class MappedFile;
}

namespace plimsoll::formats {

using plimsoll::NamedTensor;
using Metadata = std::map<std::string, std::string>;
// Empty where it has no such name.
inline std::string value_of(const Metadata& metadata, const std::string& name) {
  const auto found = metadata.find(name);
  return found == metadata.end() ? "" : found->second;
}

// Writes a file; not atomically. Tensors of any strides and device, ordered as the reference
// implementation orders them: the widest types first, so that each lies on a boundary of its type,
// then by name; the header is filled up with spaces to a multiple of 8. Errors: ValueError for a
// name twice, "__metadata__", or text that is not UTF-8; StateError for undefined tensors, both
// before a byte is written; DataError when the disk is full.
void write_safetensors(const std::filesystem::path& file, std::span<const NamedTensor> tensors,
                       const Metadata& metadata = {});
// The same bytes into a sink. Nothing reaches it when the tensors or their names are refused.
void write_safetensors(const Sink& sink, std::span<const NamedTensor> tensors,
                       const Metadata& metadata = {});

struct SafetensorsHeader;

// Copies share the file. The file must keep its length as long as they live (data::MappedFile).
class Safetensors {
 public:
  explicit Safetensors(const std::filesystem::path& file);  // DataError

  const Metadata& metadata() const;
  const std::vector<std::string>& names() const;  // in the order of their bytes
  bool has(const std::string& name) const;
  // On the cpu. DataError: no such tensor; a type the engine does not have, such as F8_E4M3 or
  // U16; more than 8 axes.
  Meta meta(const std::string& name) const;
  // A copy, on the cpu, from the current pool. DataError also for a BOOL that is neither 0 nor 1.
  Tensor tensor(const std::string& name) const;
  // The same, not copied but mapped: it looks into the file, which must keep its length, and is
  // never to be written; when the tensor goes, its pages do. A copy where the elements are not on a
  // boundary of their type, or BOOL.
  Tensor mapped(const std::string& name) const;
  // Overwrites a contiguous tensor of the same dtype and shape on any device. DataError naming both
  // when they differ.
  void read_into(const std::string& name, const Tensor& destination) const;

 private:
  void fill_from(const std::string& name, const Tensor& destination) const;

  std::string path_;
  std::shared_ptr<const data::MappedFile> file_;
  std::shared_ptr<const SafetensorsHeader> header_;
  size_t data_ = 0;  // where the elements begin
};

// All of a file, in the order of its bytes: copies on the cpu. DataError.
std::vector<NamedTensor> read_safetensors(const std::filesystem::path& file);

}  // namespace plimsoll::formats
