// .npz: a zip archive is libarchive's to read; what comes out of it is ours.
#include <filesystem>
#include <fstream>

#include "formats/npy.h"
#include "tests/fuzz/target.h"

namespace plimsoll::fuzz {

bool reads(std::string_view bytes) {
  constexpr int64_t kLimit = 64 * 1024;
  return unless_refused([&] { formats::read_npz(in_memory(bytes), kLimit); });
}

std::vector<std::string> seeds() {
  const MemoryFile file;
  const Tensor x = Tensor::of<float>({1, 2, 3}, {3});
  std::vector<std::string> all;
  for (const std::vector<NamedTensor>& tensors :
       {std::vector<NamedTensor>{{"x", x}}, {{"a", x}, {"b/c", Tensor::of<uint8_t>({1}, {})}}}) {
    formats::write_npz(file.holding(""), tensors);
    std::ifstream in(file.path(), std::ios::binary);
    all.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return all;
}

std::vector<std::string> words() {
  return {"PK\1\2",
          "PK\3\4",
          "PK\5\6",
          "PK\7\10",
          ".npy",
          "\x93NUMPY",
          std::string(4, '\0'),
          std::string(4, '\xff')};
}

}  // namespace plimsoll::fuzz
