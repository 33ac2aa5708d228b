// Data with which a training takes seconds.
//
//   const data::TemporaryFolder dir;
//   write_small_images(dir);
//   run("train_cnn --data mnist:" + dir.path().string());
#pragma once

#include "tests/data/testing.h"

namespace plimsoll::examples {

inline void append_words(data::Bytes& bytes, std::initializer_list<uint32_t> words) {
  for (const uint32_t word : words)
    for (int shift = 24; shift >= 0; shift -= 8)
      bytes.push_back(static_cast<uint8_t>(word >> shift));
}

// Images of noise, with labels that can be learned from them, and some to test: files as MNIST's.
// Of 200 an epoch has 12 batches of 16.
inline void write_small_images(const data::TemporaryFolder& dir, uint32_t train = 200,
                               uint32_t test = 50) {
  for (const auto& [name, count] : {std::pair("train", train), std::pair("t10k", test)}) {
    data::Bytes images, labels;
    append_words(images, {0x803, count, 28, 28});
    append_words(labels, {0x801, count});
    for (uint32_t i = 0; i < count; ++i) {
      labels.push_back(static_cast<uint8_t>(i % 10));
      for (uint32_t pixel = 0; pixel < 28 * 28; ++pixel)
        images.push_back(static_cast<uint8_t>(i * 2654435761U * (pixel + 1) >> 25) +
                         static_cast<uint8_t>(i % 10 == pixel / 80 ? 100 : 0));
    }
    dir.write(std::string(name) + "-images-idx3-ubyte", images);
    dir.write(std::string(name) + "-labels-idx1-ubyte", labels);
  }
}

inline std::string small_text() {
  std::string all;
  for (int i = 0; i < 600; ++i) all += "line " + std::to_string(i * i) + " of some text\n";
  return all;
}

}  // namespace plimsoll::examples
