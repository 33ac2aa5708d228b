// The cache's files: what is damaged is made again, which is refused here.
#include "core/cache.h"
#include "tests/data_testing.h"
#include "tests/fuzz/target.h"

namespace plimsoll::fuzz {
namespace {

// In `folder`, the file that keeps `content` for "x".
std::filesystem::path file_in(const data::TemporaryFolder& folder, const data::Bytes& content) {
  cached_file(folder.path(), {"x"}, [&] { return content; });
  return folder / data::names_in(folder.path()).at(0);
}

// A folder with a link to the file in memory in place of that file.
const data::TemporaryFolder& linked() {
  static const data::TemporaryFolder folder;
  static const bool once = [] {
    const std::filesystem::path file = file_in(folder, {});
    std::filesystem::remove(file);
    std::filesystem::create_symlink(in_memory(""), file);
    return true;
  }();
  static_cast<void>(once);
  return folder;
}

}  // namespace

bool reads(std::string_view bytes) {
  const std::filesystem::path& folder = linked().path();
  in_memory(bytes);
  return unless_refused(
      [&] { cached_file(folder, {"x"}, []() -> data::Bytes { fail<DataError>("made again."); }); });
}

std::vector<std::string> seeds() {
  std::vector<std::string> all;
  for (const data::Bytes& content : {data::Bytes{}, {1, 2, 3}, data::Bytes(1000, 'x')}) {
    const data::TemporaryFolder folder;
    all.push_back(data::read_text(file_in(folder, content)));
  }
  return all;
}

std::vector<std::string> words() { return {"plimcac1", std::string(8, '\0'), "\377\377\377\377"}; }

}  // namespace plimsoll::fuzz
