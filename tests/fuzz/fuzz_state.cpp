// Saved states of a training: safetensors with a checksum, which almost no damage passes.
#include <filesystem>
#include <fstream>

#include "tests/data/testing.h"
#include "tests/fuzz/target.h"
#include "train/state.h"

namespace plimsoll::fuzz {

bool reads(std::string_view bytes) {
  return unless_refused([&] { train::check_whole(in_memory(bytes)); });
}

std::vector<std::string> seeds() {
  const data::TemporaryFolder folder;
  std::vector<std::string> all;
  for (const std::vector<NamedTensor>& tensors :
       {std::vector<NamedTensor>{},
        {{"w", Tensor::of<float>({1, 2, 3}, {3})}, {"batches", Tensor::of<int64_t>({7}, {})}}}) {
    train::write_state(folder / "f", {.tensors = tensors, .metadata = {{"model", "lenet"}}});
    all.push_back(data::read_text(folder / "f"));
  }
  return all;
}

std::vector<std::string> words() {
  return {"{", "}", "[", ",", "\"F32\"", "\"crc32\":\"", "\"format\":", "\\u0000", "__metadata__"};
}

}  // namespace plimsoll::fuzz
