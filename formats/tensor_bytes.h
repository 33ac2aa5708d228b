// The elements of a tensor as files hold them: row-major, on the host, least significant byte
// first.
//
//   std::vector<std::byte> space;
//   sink(bytes_of("npy", tensor, space));
#pragma once

#include <bit>
#include <filesystem>
#include <functional>
#include <span>
#include <vector>

#include "core/tensor/tensor.h"

namespace plimsoll::formats {

static_assert(std::endian::native == std::endian::little, "files are read and written as they are");

// Throws what bytes_of() would; `format` begins the messages. StateError: undefined, or while a
// step is being captured. DeviceError: no bytes.
void require_bytes(const char* format, const Tensor& tensor);

// The bytes themselves where they lie like this, else a copy in `space`.
std::span<const std::byte> bytes_of(const char* format, const Tensor& tensor,
                                    std::vector<std::byte>& space);

// Overwrites a contiguous tensor of any device, as Tensor::write does. `bytes` may lie on any
// boundary. DataError, naming `what`, for a bool that is neither 0 nor 1.
void fill(const char* format, const std::string& what, const Tensor& tensor,
          std::span<const std::byte> bytes);

// Takes what is to be written, in order.
using Sink = std::function<void(std::span<const std::byte>)>;

// A file of what write(sink) says; one that is there is overwritten in place, from the first bytes
// on. DataError when it cannot be made or the disk is full; what was written until then stays.
void write_file(const char* format, const std::filesystem::path& path,
                const std::function<void(const Sink&)>& write);

}  // namespace plimsoll::formats
