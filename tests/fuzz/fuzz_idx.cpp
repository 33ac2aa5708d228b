// The idx format of MNIST, images and labels.
#include "data/images/idx.h"
#include "tests/fuzz/target.h"

namespace plimsoll::fuzz {

bool reads(std::string_view bytes) {
  const data::Bytes content(bytes.begin(), bytes.end());
  const bool images = unless_refused([&] { data::parse_idx(content, 3, "f"); });
  return unless_refused([&] { data::parse_idx(content, 1, "f"); }) || images;
}

std::vector<std::string> seeds() {
  return {std::string("\0\0\10\3\0\0\0\2\0\0\0\1\0\0\0\3abcdef", 22),
          std::string("\0\0\10\1\0\0\0\5\0\1\2\3\4", 13), std::string("\0\0\10\1\0\0\0\0", 8)};
}

std::vector<std::string> words() {
  return {std::string("\0\0\10\3", 4), std::string("\0\0\10\1", 4)};
}

}  // namespace plimsoll::fuzz
