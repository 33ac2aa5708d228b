// What stands in front of the elements of a .npy file: magic, version, length, and a dictionary as
// Python writes it.
//
//   const NpyHeader header = parse_npy_header(bytes, "x.npy");
#pragma once

#include <string_view>

#include "formats/npy.h"

namespace plimsoll::formats {

struct NpyHeader {
  Meta meta;
  bool fortran = false;  // the first axis is the fastest
  size_t length = 0;     // of all that is in front of the elements
};

// DataError. The elements that follow are not looked at.
NpyHeader parse_npy_header(std::span<const std::byte> bytes, const std::string& name);

// StateError, DTypeError.
std::string npy_header(const Tensor& tensor);

}  // namespace plimsoll::formats
