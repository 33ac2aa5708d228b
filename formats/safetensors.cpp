#include "formats/safetensors.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "core/tensor/foreign_memory.h"
#include "data/mapped_file.h"
#include "formats/safetensors_header.h"

namespace plimsoll::formats {
namespace {

const FileTensor& find(const SafetensorsHeader& header, const std::string& name,
                       const std::string& path) {
  const auto found = header.tensors.find(name);
  check<DataError>(found != header.tensors.end(), "safetensors: there is no tensor ",
                   in_quotes(name), " among the ", header.names.size(), " of ", path,
                   ". Check that the file belongs to this model.");
  return found->second;
}

}  // namespace

Safetensors::Safetensors(const std::filesystem::path& file)
    : path_(file.string()), file_(std::make_shared<const data::MappedFile>("safetensors", file)) {
  const std::span<const std::byte> bytes = file_->bytes();
  uint64_t length = 0;
  check<DataError>(bytes.size() >= sizeof length, "safetensors: the file is too short: ", path_,
                   " has ", bytes.size(), " of at least 8 bytes. Name a safetensors file.");
  std::memcpy(&length, bytes.data(), sizeof length);
  const uint64_t rest = bytes.size() - sizeof length;
  check<DataError>(length <= rest && length <= kMaxHeaderBytes,
                   "safetensors: the header does not fit: ", path_, " claims ", length,
                   " bytes of it and has ", rest, " (at most ", kMaxHeaderBytes,
                   "). Name a safetensors file, or fetch it again.");
  data_ = static_cast<size_t>(sizeof length + length);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + sizeof length, length);
  header_ = std::make_shared<const SafetensorsHeader>(parse_header(text, rest - length, path_));
}

const Metadata& Safetensors::metadata() const { return header_->metadata; }

const std::vector<std::string>& Safetensors::names() const { return header_->names; }

bool Safetensors::has(const std::string& name) const { return header_->tensors.contains(name); }

Meta Safetensors::meta(const std::string& name) const {
  const FileTensor& tensor = find(*header_, name, path_);
  check<DataError>(tensor.type->dtype.has_value(), "safetensors: tensor ", in_quotes(name), " has ",
                   tensor.type->name, " elements, which are not read: in ", path_,
                   ". Convert the file.");
  check<DataError>(tensor.shape.size() <= kMaxRank, "safetensors: tensor ", in_quotes(name),
                   " has ", tensor.shape.size(), " axes, at most ", kMaxRank, " are read: in ",
                   path_, ". Convert the file.");
  Meta meta{.shape = {}, .dtype = *tensor.type->dtype, .device = Device::cpu};
  for (const uint64_t size : tensor.shape) meta.shape.push_back(static_cast<int64_t>(size));
  return meta;
}

void Safetensors::fill_from(const std::string& name, const Tensor& destination) const {
  const FileTensor& tensor = find(*header_, name, path_);
  fill("safetensors", cat("tensor ", in_quotes(name), " of ", path_), destination,
       file_->bytes().subspan(data_ + tensor.begin, tensor.end - tensor.begin));
}

Tensor Safetensors::tensor(const std::string& name) const {
  const Tensor copy = Tensor::empty(meta(name), "safetensors");
  fill_from(name, copy);
  return copy;
}

Tensor Safetensors::mapped(const std::string& name) const {
  const Meta here = meta(name);
  const std::byte* const data = file_->bytes().data() + data_ + find(*header_, name, path_).begin;
  const auto boundary = static_cast<uintptr_t>(size_of(here.dtype));
  if (here.dtype == DType::boolean || reinterpret_cast<uintptr_t>(data) % boundary != 0)
    return tensor(name);
  const std::span part(data, static_cast<size_t>(bytes_of(here)));
  const std::shared_ptr<const void> owner(
      data, [file = file_, part](const void*) { file->give_back(part); });
  return foreign_tensor(here, data, owner);
}

void Safetensors::read_into(const std::string& name, const Tensor& destination) const {
  check<StateError>(destination.defined(), "safetensors: there is no tensor to read ",
                    in_quotes(name), " into. Make it first.");
  const Meta here = meta(name);
  check<DataError>(here.dtype == destination.dtype() && here.shape == destination.shape(),
                   "safetensors: tensor ", in_quotes(name), " is ", here.dtype, " ", here.shape,
                   " in ", path_, " and ", destination.dtype(), " ", destination.shape(),
                   " here. Build the model that was saved.");
  fill_from(name, destination);
}

std::vector<NamedTensor> read_safetensors(const std::filesystem::path& file) {
  const Safetensors source(file);
  std::vector<NamedTensor> tensors;
  for (const std::string& name : source.names()) tensors.push_back({name, source.tensor(name)});
  return tensors;
}

void write_safetensors(const Sink& sink, std::span<const NamedTensor> tensors,
                       const Metadata& metadata) {
  std::vector<const NamedTensor*> order;
  std::set<std::string_view> names{kMetadataName};
  for (const NamedTensor& item : tensors) {
    check<StateError>(item.tensor.defined(), "safetensors: tensor ", in_quotes(item.name),
                      " is undefined. Write tensors that were computed.");
    require_bytes("safetensors", item.tensor);
    check<ValueError>(names.insert(item.name).second, "safetensors: the name ",
                      in_quotes(item.name), " is taken. Give every tensor a name of its own.");
    order.push_back(&item);
  }
  std::ranges::sort(order, [](const NamedTensor* a, const NamedTensor* b) {
    const FileType& of_a = type_of(a->tensor.dtype());
    const FileType& of_b = type_of(b->tensor.dtype());
    return &of_a != &of_b ? &of_a > &of_b : a->name < b->name;
  });
  const std::string header = header_text(order, metadata);
  const uint64_t length = header.size();
  sink(std::as_bytes(std::span(&length, 1)));
  sink(std::as_bytes(std::span(header)));
  std::vector<std::byte> space;
  for (const NamedTensor* item : order) sink(bytes_of("safetensors", item->tensor, space));
}

void write_safetensors(const std::filesystem::path& file, std::span<const NamedTensor> tensors,
                       const Metadata& metadata) {
  write_file("safetensors", file,
             [&](const Sink& sink) { write_safetensors(sink, tensors, metadata); });
}

}  // namespace plimsoll::formats
