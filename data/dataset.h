// ImageDataset: labelled images in memory, as bytes; the Loader makes tensors of them.
//
//   ImageDataset train = load_mnist("data/mnist", Split::train);
//   train.count();                     // 60000
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/error.h"

namespace plimsoll::data {

enum class Split : uint8_t { train, test };

inline const char* name_of(Split split) { return split == Split::train ? "train" : "test"; }

// What turns a byte p of channel c into the number a network sees: (p / 255 - mean[c]) / stddev[c].
// The constants are those of all pixels of the training set, so that inputs have mean 0,
// variance 1.
struct Normalization {
  std::array<float, 3> mean{};
  std::array<float, 3> stddev{1, 1, 1};
  bool operator==(const Normalization&) const = default;
};

struct ImageDataset {
  std::string name;  // "mnist train", for messages
  int64_t height = 0, width = 0, channels = 0, classes = 0;
  Normalization normalization;
  std::vector<uint8_t> pixels;                // [N, H, W, C]
  std::vector<int64_t> labels;                // [N], 0 <= label < classes
  std::vector<std::string> class_names = {};  // of each class; empty: they have numbers alone

  int64_t count() const { return static_cast<int64_t>(labels.size()); }
  int64_t image_bytes() const { return height * width * channels; }
};

// DataError when the parts do not fit together: sizes, number of channels, names, or a label.
void check_dataset(const ImageDataset& dataset);

// Mean and standard deviation of all pixels / 255, for each channel: those of a training set are
// what its nets are trained with. Summed in whole numbers, so exact but for the last rounding; a
// channel in which all pixels are equal gets the deviation 1.
Normalization normalization_of(const ImageDataset& dataset);

}  // namespace plimsoll::data
