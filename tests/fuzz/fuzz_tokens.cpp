// Files of token ids, with a header or raw: all ids are read.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "data/text/token_file.h"
#include "tests/data/testing.h"
#include "tests/fuzz/target.h"

namespace plimsoll::fuzz {

bool reads(std::string_view bytes) {
  return unless_refused([&] {
    const data::TokenFile file(in_memory(bytes));
    int64_t part[64];
    for (int64_t i = 0; i < file.tokens().size(); i += std::size(part))
      file.tokens().copy(i, std::min<int64_t>(std::size(part), file.tokens().size() - i), part);
  });
}

std::vector<std::string> seeds() {
  const data::TemporaryFolder folder;
  std::vector<std::string> all = {std::string("\1\0\2\0\377\377", 6)};
  for (const int64_t vocabulary : {int64_t{300}, int64_t{100'000}}) {
    data::TokenWriter writer(folder / "f", vocabulary);
    writer.append(std::vector<int32_t>{1, 2, 299, 0, 7});
    writer.finish();
    all.push_back(data::read_text(folder / "f"));
  }
  return all;
}

std::vector<std::string> words() {
  return {"plimtok1", std::string("\2\0\0\0", 4), std::string("\4\0\0\0", 4), "\377\377\377\377"};
}

}  // namespace plimsoll::fuzz
