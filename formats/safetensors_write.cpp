#include <algorithm>
#include <set>

#include "formats/safetensors_header.h"

namespace plimsoll::formats {
namespace {

// The place of a dtype among the types of the format.
size_t place_of(DType dtype) {
  const auto found = std::ranges::find(file_types(), std::optional(dtype), &FileType::dtype);
  return static_cast<size_t>(found - file_types().begin());
}

std::string header_of(const std::vector<const NamedTensor*>& order, const Metadata& metadata) {
  std::string text = "{";
  const auto separate = [&] { text += text.size() > 1 ? "," : ""; };
  if (!metadata.empty()) {
    text += cat("\"", kMetadataName, "\":{");
    for (const auto& [key, value] : metadata)
      text += cat(text.back() == '{' ? "" : ",", json_text(key), ":", json_text(value));
    text += '}';
  }
  int64_t begin = 0;
  for (const NamedTensor* item : order) {
    const Meta& meta = item->tensor.meta();
    const int64_t end = checked_add(begin, bytes_of(meta), "safetensors");
    separate();
    text += cat(json_text(item->name), ":{\"dtype\":\"", file_types()[place_of(meta.dtype)].name,
                "\",\"shape\":[");
    for (const int64_t size : meta.shape) text += cat(text.back() == '[' ? "" : ",", size);
    text += cat("],\"data_offsets\":[", begin, ",", end, "]}");
    begin = end;
  }
  text += '}';
  text.resize((text.size() + 7) / 8 * 8, ' ');
  check<ValueError>(text.size() <= kMaxHeaderBytes, "safetensors: the header would have ",
                    text.size(), " bytes, at most ", kMaxHeaderBytes,
                    " are read. Write several files.");
  return text;
}

}  // namespace

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
    const size_t of_a = place_of(a->tensor.dtype()), of_b = place_of(b->tensor.dtype());
    return of_a != of_b ? of_a > of_b : a->name < b->name;
  });
  const std::string header = header_of(order, metadata);
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
