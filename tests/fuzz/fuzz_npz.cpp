// .npz: a zip archive and the arrays in it.
#include <filesystem>
#include <fstream>

#include "formats/npy.h"
#include "tests/fuzz/target.h"
#include "tests/npz_testing.h"

namespace plimsoll::fuzz {

// Twice this is allowed. A buffer that doubled beyond it would be too much: 96 KiB and 192 KiB.
constexpr int64_t kLimit = 100 * 1024;

bool reads(std::string_view bytes) {
  return unless_refused([&] { formats::read_npz(in_memory(bytes), kLimit); });
}

// An archive of one array of zeros, some hundred bytes long, that unpacks to almost the limit.
std::string small_and_large() {
  std::string content;
  formats::write_npy(
      [&](std::span<const std::byte> part) {
        content.append(reinterpret_cast<const char*>(part.data()), part.size());
      },
      Tensor::of<uint8_t>(std::vector<uint8_t>(kLimit - 128), {kLimit - 128}));
  return formats::deflated_npz("zeros.npy", content);
}

std::vector<std::string> seeds() {
  const MemoryFile file;
  const Tensor x = Tensor::of<float>({1, 2, 3}, {3});
  std::vector<std::string> all = {small_and_large()};
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
