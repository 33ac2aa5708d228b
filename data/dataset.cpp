#include "data/dataset.h"

namespace plimsoll::data {

void check_dataset(const ImageDataset& dataset) {
  const auto& [name, height, width, channels, classes, normalization, pixels, labels] = dataset;
  check<DataError>(!labels.empty(), "dataset: it is empty: ", name,
                   " has no images. Use one with at least one image.");
  check<DataError>(height > 0 && width > 0 && channels > 0 && channels <= 3,
                   "dataset: images need a height, a width and 1 to 3 channels: ", name, " has ",
                   height, " x ", width, " x ", channels, ". Set all three.");
  check<DataError>(static_cast<int64_t>(pixels.size()) == dataset.count() * dataset.image_bytes(),
                   "dataset: pixels and labels do not match: ", name, " has ", pixels.size(),
                   " bytes of pixels for ", labels.size(), " labels and images of ",
                   dataset.image_bytes(), " bytes. Give each image one label.");
  for (size_t i = 0; i < labels.size(); ++i)
    check<DataError>(0 <= labels[i] && labels[i] < classes,
                     "dataset: a label is out of range: ", name, " image ", i, " has label ",
                     labels[i], " of ", classes,
                     " classes. Check that the labels belong to these images.");
}

}  // namespace plimsoll::data
