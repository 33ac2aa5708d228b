// JPEG pictures, as they come and with sizes below 64, so that damage gets past the claim.
#include "formats/picture_file.h"
#include "tests/fuzz/target.h"
#include "tests/support/jpeg_of.h"

namespace plimsoll::fuzz {
namespace {

// The sides that frame headers (SOF0 to SOF2) claim. Pictures as large as the file says would be no
// fault, and no use here.
void mend(data::Bytes& bytes) {
  for (size_t at = 0; at + 9 < bytes.size(); ++at)
    if (bytes[at] == 0xFF && 0xC0 <= bytes[at + 1] && bytes[at + 1] <= 0xC2) {
      bytes[at + 5] = bytes[at + 7] = 0;
      bytes[at + 6] &= 63;
      bytes[at + 8] &= 63;
    }
}

}  // namespace

bool reads(std::string_view bytes) {
  data::Bytes content(bytes.begin(), bytes.end());
  mend(content);
  return unless_refused([&] { formats::parse_jpeg(content, "f"); });
}

std::vector<std::string> seeds() {
  std::vector<std::string> files;
  for (const int64_t channels : {1, 3})
    for (const bool progressive : {false, true}) {
      data::Picture picture{15, 21, channels, {}};
      for (int64_t i = 0; i < 15 * 21 * channels; ++i)
        picture.pixels.push_back(static_cast<uint8_t>(i * i));
      files.push_back(jpeg_of(picture, {.progressive = progressive}));
    }
  return files;
}

std::vector<std::string> words() {
  return {"\xff\xd8", "\xff\xc0", "\xff\xc2", "\xff\xc4", "\xff\xda", "\xff\xd9", "\xff\xdb"};
}

}  // namespace plimsoll::fuzz
