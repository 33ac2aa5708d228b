// Whole files, with gzip undone: what every dataset is read through.
#include "data/file.h"
#include "tests/data/testing.h"
#include "tests/fuzz/target.h"

namespace plimsoll::fuzz {

bool reads(std::string_view bytes) {
  constexpr int64_t kLimit = 64 * 1024;
  return unless_refused([&] { data::read_file(in_memory(bytes), kLimit); });
}

std::vector<std::string> seeds() {
  std::vector<std::string> all = {"plain"};
  for (const std::string& text :
       {std::string(), std::string("some text"), std::string(9000, 'x')}) {
    const data::Bytes packed = data::gzip({text.begin(), text.end()});
    all.emplace_back(packed.begin(), packed.end());
  }
  return all;
}

std::vector<std::string> words() { return {"\x1f\x8b\x08", std::string(8, '\0')}; }

}  // namespace plimsoll::fuzz
