// NetPBM pictures (https://netpbm.sourceforge.net/doc/pgm.html, ppm.html), the simplest there are:
//
//   P5 28 28 255 <one white space> <28 * 28 bytes>      grey, binary (P6: colour)
//   P2 2 1 255  0 17                                    grey, decimal (P3: colour)
//
// A "#" begins a comment to the end of its line, in the header and among decimal numbers.
#pragma once

#include <string>

#include "data/file.h"
#include "data/images/picture.h"

namespace plimsoll::data {

// Whether the bytes begin as one of this family: "P" and a digit.
bool is_netpbm(const Bytes& bytes);

// `name` is the file in messages. DataError: another member of the family (P1, P4: black and white;
// P7), a largest value that is not 255 (larger: 16 bits), sizes of 0 or that do not agree with the
// bytes that are there, numbers that are none or above 255, and anything behind the pixels.
Picture parse_netpbm(const Bytes& bytes, const std::string& name);

}  // namespace plimsoll::data
