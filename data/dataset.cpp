#include "data/dataset.h"

#include <cmath>

namespace plimsoll::data {

void check_dataset(const ImageDataset& dataset) {
  const auto& [name, height, width, channels, classes, normalization, pixels, labels, names] =
      dataset;
  check<DataError>(!labels.empty(), "dataset: it is empty: ", name,
                   " has no images. Use one with at least one image.");
  check<DataError>(height > 0 && width > 0 && channels > 0 && channels <= 3,
                   "dataset: images need a height, a width and 1 to 3 channels: ", name, " has ",
                   height, " x ", width, " x ", channels, ". Set all three.");
  check<DataError>(static_cast<int64_t>(pixels.size()) == dataset.count() * dataset.image_bytes(),
                   "dataset: pixels and labels do not match: ", name, " has ", pixels.size(),
                   " bytes of pixels for ", labels.size(), " labels and images of ",
                   dataset.image_bytes(), " bytes. Give each image one label.");
  check<DataError>(names.empty() || std::ssize(names) == classes,
                   "dataset: each class has a name, or none has: ", name, " has ", names.size(),
                   " names for ", classes, " classes. Name all of them.");
  for (size_t i = 0; i < labels.size(); ++i)
    check<DataError>(0 <= labels[i] && labels[i] < classes,
                     "dataset: a label is out of range: ", name, " image ", i, " has label ",
                     labels[i], " of ", classes,
                     " classes. Check that the labels belong to these images.");
}

Normalization normalization_of(const ImageDataset& dataset) {
  check_dataset(dataset);
  Normalization result;
  const auto channels = static_cast<size_t>(dataset.channels);
  for (size_t channel = 0; channel < channels; ++channel) {
    uint64_t count = 0, sum = 0, squares = 0;  // of bytes: enough for 2^48 of them
    for (size_t i = channel; i < dataset.pixels.size(); i += channels, ++count) {
      const uint64_t byte = dataset.pixels[i];
      sum += byte;
      squares += byte * byte;
    }
    const auto n = static_cast<double>(count);
    const double mean = static_cast<double>(sum) / n;
    const double variance = static_cast<double>(squares) / n - mean * mean;
    result.mean[channel] = static_cast<float>(mean / 255);
    result.stddev[channel] = variance > 1e-6 ? static_cast<float>(std::sqrt(variance) / 255) : 1.0F;
  }
  return result;
}

}  // namespace plimsoll::data
