// .npy, NumPy's format of one array, and .npz, several of them in a zip archive
// (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html).
//
//   write_npy("x.npy", x);                                      // numpy.load("x.npy")
//   Tensor y = read_npy("y.npy");                               // numpy.save("y.npy", y)
//   write_npz("batch.npz", {{{"x", x}, {"labels", labels}}});   // numpy.load("batch.npz")["x"]
//
// f64 f32 f16 i64 i32 u8 bool, of any shape, [] included. Refused in a sentence that says what to
// do in Python: other types, big-endian numbers, pickled objects, more than 8 axes. Fortran's order
// is read, and becomes row-major. What is read is allocated from the current pool, and never before
// the bytes are there.
#pragma once

#include "core/named_tensor.h"
#include "formats/tensor_bytes.h"

namespace plimsoll::formats {

// Format 1.0, least significant byte first, the data on a boundary of 64. Tensors of any strides
// and device. DTypeError for bf16, which NumPy does not have; StateError for an undefined tensor;
// both before the file is touched. DataError when the disk is full. Not atomic.
void write_npy(const std::filesystem::path& file, const Tensor& tensor);
void write_npy(const Sink& sink, const Tensor& tensor);

// On the cpu. Formats 1.0 to 3.0. DataError for everything that is not exactly one array.
Tensor read_npy(const std::filesystem::path& file);
// The same of a file's content; `name` is the file in messages.
Tensor parse_npy(std::span<const std::byte> bytes, const std::string& name);

// Stored, not compressed, as numpy.savez does; also more than kMaxNpzBytes, which read_npz reads
// only with a higher limit. Errors of write_npy, and ValueError for a name that is empty, there
// twice, above 65,000 characters, or holds something else than printable ASCII.
void write_npz(const std::filesystem::path& file, std::span<const NamedTensor> tensors);

constexpr int64_t kMaxNpzBytes = int64_t{4} << 30;

// All arrays in the order of the file, under their names in UTF-8 without .npy; compressed ones
// too. Meanwhile they take at most twice `limit` bytes, three times where an array is in Fortran's
// order. DataError: no zip archive, a damaged one, an entry that is no .npy, a name twice, or more
// than `limit` bytes unpacked.
std::vector<NamedTensor> read_npz(const std::filesystem::path& file, int64_t limit = kMaxNpzBytes);

}  // namespace plimsoll::formats
