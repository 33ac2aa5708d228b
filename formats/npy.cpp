#include "formats/npy.h"

#include <optional>

#include "core/cpu/copy.h"
#include "data/mapped_file.h"
#include "formats/npy_header.h"

namespace plimsoll::formats {
namespace {

// Bytes of the elements, or nullopt when 63 bits do not hold their number.
std::optional<int64_t> bytes_if_possible(const Meta& meta) {
  int64_t n = size_of(meta.dtype);
  for (const int64_t size : meta.shape)
    if (size == 0) return 0;
  for (const int64_t size : meta.shape)
    if (__builtin_mul_overflow(n, size, &n)) return std::nullopt;
  return n;
}

// `reversed` holds the elements with the axes in the opposite order.
Tensor in_row_major_order(const Tensor& reversed, const Meta& meta) {
  const Tensor x = Tensor::empty(meta, "npy");
  View from = view_of(reversed.value());
  from.meta = meta;
  const Strides strides = from.strides;
  for (int axis = 0; axis < meta.shape.rank(); ++axis)
    from.strides[axis] = strides[meta.shape.rank() - 1 - axis];
  if (x.count() > 0) copy_strided(from, view_of(x.value()));
  return x;
}

}  // namespace

void write_npy(const Sink& sink, const Tensor& tensor) {
  const std::string header = npy_header(tensor);
  std::vector<std::byte> space;
  const std::span<const std::byte> elements = bytes_of("npy", tensor, space);
  sink(std::as_bytes(std::span(header)));
  sink(elements);
}

void write_npy(const std::filesystem::path& file, const Tensor& tensor) {
  write_file("npy", file, [&](const Sink& sink) { write_npy(sink, tensor); });
}

Tensor parse_npy(std::span<const std::byte> bytes, const std::string& name) {
  const NpyHeader header = parse_npy_header(bytes, name);
  const std::span<const std::byte> elements = bytes.subspan(header.length);
  check<DataError>(bytes_if_possible(header.meta) == static_cast<int64_t>(elements.size()),
                   "npy: header and content do not match: ", name, " claims ", header.meta.dtype,
                   " ", header.meta.shape, " and holds ", elements.size(),
                   " bytes. Fetch it again.");
  Meta stored = header.meta;
  if (header.fortran)
    for (int axis = 0; axis < stored.shape.rank(); ++axis)
      stored.shape[axis] = header.meta.shape[stored.shape.rank() - 1 - axis];
  const Tensor x = Tensor::empty(stored, "npy");
  fill("npy", name, x, elements);
  return header.fortran && stored.shape.rank() > 1 ? in_row_major_order(x, header.meta) : x;
}

Tensor read_npy(const std::filesystem::path& file) {
  const data::MappedFile mapped("npy", file);
  return parse_npy(mapped.bytes(), file.string());
}

}  // namespace plimsoll::formats
