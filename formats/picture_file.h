// Pictures in files: PNG, which libpng reads and writes; JPEG, which libjpeg reads; and NetPBM
// (data/images/netpbm.h).
//
//   data::Picture picture = formats::read_picture("seven.png");
//   std::string bytes = formats::png_of(picture);
#pragma once

#include <string>

#include "data/file.h"
#include "data/images/picture.h"

namespace plimsoll::formats {

// A PNG, JPEG or NetPBM file of 8 bits, grey or in colours, told by its first bytes. DataError,
// naming the file: as data::read_file(), parse_png(), parse_jpeg(), data::parse_netpbm(), and for
// one that is none of them.
data::Picture read_picture(const std::filesystem::path& file);

// The content of a PNG file. Palettes and grey of 1, 2 or 4 bits become 8 bits, which is exact; no
// gamma and no profile is applied. Every checksum must be right. DataError: broken or cut short, 16
// bits, transparency of any kind, and sizes that the file is too short for.
data::Picture parse_png(const data::Bytes& bytes, const std::string& name);

// The content of a JPEG file, sequential or progressive, as libjpeg's exact whole-number transform
// has it. It is not turned as its EXIF data may ask. DataError: broken or cut short, also where
// libjpeg would paint over the damage; arithmetic coding, four parts (CMYK), and sizes that the
// file is too short for.
data::Picture parse_jpeg(const data::Bytes& bytes, const std::string& name);

// The content of a PNG file. ValueError for a picture that is none.
std::string png_of(const data::Picture& picture);

}  // namespace plimsoll::formats
