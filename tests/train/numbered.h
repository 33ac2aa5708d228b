// A state that is a function of one number, and what a kill leaves of its saves: what was saved can
// be told from what was not, and from a mixture.
#pragma once

#include <cstdlib>
#include <numeric>

#include "tests/data/testing.h"
#include "train/saves.h"

namespace plimsoll::train {

// Tensors of several sizes: 21 times `elements` in all, of 8 bytes.
struct Numbered {
  explicit Numbered(int64_t elements = 1000) {
    std::vector<formats::NamedTensor> named;
    for (int64_t k = 1; k <= 6; ++k) {
      const int64_t count = k * elements;
      tensors.push_back(
          Tensor::of<int64_t>(std::vector<int64_t>(static_cast<size_t>(count)), {count}));
      named.push_back({cat("layer", k, ".weight"), tensors.back()});
    }
    state.number("run.number", number).tensors("", named).same("model", "numbered");
  }
  void set(int64_t value) {
    number = value;
    for (const Tensor& tensor : tensors) {
      std::vector<int64_t> values(static_cast<size_t>(tensor.count()));
      std::iota(values.begin(), values.end(), value);
      tensor.write(std::span<const int64_t>(values));
    }
  }
  void expect_whole() const {
    for (const Tensor& tensor : tensors) {
      const std::vector<int64_t> values = tensor.to_vector<int64_t>();
      for (size_t i = 0; i < values.size(); ++i)
        ASSERT_EQ(values[i], number + static_cast<int64_t>(i)) << i;
    }
  }

  int64_t number = 0;
  std::vector<Tensor> tensors;
  State state;
};

// PLIMSOLL_KILLS, or so many.
inline int kills_or(int usual) {
  const char* given = std::getenv("PLIMSOLL_KILLS");
  return given ? std::atoi(given) : usual;
}

// What a kill left in a folder, where `last` was there before: the newest save is whole, and no
// older. Its number; `last` where there is none.
inline int64_t number_left(const std::filesystem::path& folder, int64_t elements, int64_t last) {
  Numbered numbered(elements);
  const Restored restored = restore_newest(folder, numbered.state);
  EXPECT_TRUE(restored.damaged.empty()) << restored.damaged[0].why;
  if (restored.file.empty()) return last;  // killed before the first was there
  EXPECT_EQ(restored.file, list_saves(folder)[0].file);
  EXPECT_GE(numbered.number, last);
  numbered.expect_whole();
  return numbered.number;
}

}  // namespace plimsoll::train
