// PNG pictures, as they come and with checksums made right again, so that damage gets past them.
#include <zlib.h>

#include "formats/picture_file.h"
#include "tests/fuzz/target.h"

namespace plimsoll::fuzz {
namespace {

uint32_t number_at(const data::Bytes& bytes, size_t at) {
  return uint32_t{bytes[at]} << 24 | uint32_t{bytes[at + 1]} << 16 | uint32_t{bytes[at + 2]} << 8 |
         bytes[at + 3];
}

// Pictures as large as the file says would be no fault, and no use here: sides below 64.
void mend(data::Bytes& bytes) {
  for (size_t at = 8; at + 12 <= bytes.size();) {
    const size_t length = number_at(bytes, at);
    if (length > bytes.size() - at - 12) return;
    if (at == 8 && length >= 8)
      for (const size_t side : {at + 8, at + 12}) {
        bytes[side] = bytes[side + 1] = bytes[side + 2] = 0;
        bytes[side + 3] &= 63;
      }
    const auto crc = static_cast<uint32_t>(
        crc32(0, bytes.data() + at + 4, static_cast<uInt>(length + 4)));
    for (size_t i = 0; i < 4; ++i)
      bytes[at + 8 + length + i] = static_cast<uint8_t>(crc >> (24 - 8 * i));
    at += 12 + length;
  }
}

}  // namespace

bool reads(std::string_view bytes) {
  data::Bytes content(bytes.begin(), bytes.end());
  const bool as_it_is = unless_refused([&] { formats::parse_png(content, "f"); });
  mend(content);
  return unless_refused([&] { formats::parse_png(content, "f"); }) || as_it_is;
}

std::vector<std::string> seeds() {
  std::vector<std::string> files;
  for (const int64_t channels : {1, 3}) {
    data::Picture picture{5, 7, channels, {}};
    for (int64_t i = 0; i < 35 * channels; ++i) picture.pixels.push_back(static_cast<uint8_t>(i));
    files.push_back(formats::png_of(picture));
  }
  return files;
}

std::vector<std::string> words() {
  return {"IHDR", "IDAT", "IEND", "PLTE", "tRNS", std::string("\0\0\0\0", 4)};
}

}  // namespace plimsoll::fuzz
