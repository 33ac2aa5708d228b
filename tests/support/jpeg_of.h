// A picture as the content of a JPEG file, by libjpeg.
//
//   const std::string bytes = jpeg_of(picture, {.quality = 90, .progressive = true});
#pragma once

#include <cstdio>
#include <cstdlib>

#include <jpeglib.h>

#include <string>

#include "data/images/picture.h"

namespace plimsoll {

struct JpegOptions {
  int quality = 90;
  bool progressive = false, arithmetic = false, four_parts = false;
};

inline std::string jpeg_of(const data::Picture& picture, JpegOptions options = {}) {
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&jpeg, &bytes, &size);
  const int64_t parts = options.four_parts ? 4 : picture.channels;
  jpeg.image_width = static_cast<JDIMENSION>(picture.width / (options.four_parts ? 4 : 1));
  jpeg.image_height = static_cast<JDIMENSION>(picture.height);
  jpeg.input_components = static_cast<int>(parts);
  jpeg.in_color_space = parts == 1 ? JCS_GRAYSCALE : parts == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, options.quality, TRUE);
  jpeg.arith_code = options.arithmetic ? TRUE : FALSE;
  if (options.progressive) jpeg_simple_progression(&jpeg);
  jpeg_start_compress(&jpeg, TRUE);
  const auto row = static_cast<size_t>(picture.width * picture.channels);
  while (jpeg.next_scanline < jpeg.image_height) {
    auto* line = const_cast<JSAMPROW>(picture.pixels.data() + jpeg.next_scanline * row);
    jpeg_write_scanlines(&jpeg, &line, 1);
  }
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  std::string result(reinterpret_cast<char*>(bytes), size);
  std::free(bytes);
  return result;
}

}  // namespace plimsoll
