// The images that predict is asked about: pictures in files, then entries of the test split, as one
// data set, so that they meet the net exactly as in its training.
//
//   const AskedImages asked = asked_images(options, trained);
//   asked.names[0];                 // "seven.png"
#pragma once

#include <optional>

#include "examples/common/trained_model.h"

namespace plimsoll::examples {

struct AskedImages {
  data::ImageDataset images;                  // labels of pictures are 0, and mean nothing
  std::vector<std::string> names;             // of each: its file, or "mnist test 17"
  std::vector<std::optional<int64_t>> entry;  // its number in the test split; none: a picture
};

// Nothing where none is asked for. UsageError for entries that are no numbers or not in the split;
// DataError for pictures that cannot be read or do not fit.
AskedImages asked_images(const PredictOptions& options, const TrainedModel& trained);

// "17,30-35": {17, 30, 31, ..., 35}. UsageError for anything else, and for what is not below
// `count`.
std::vector<int64_t> entries_of(const std::string& text, int64_t count);

}  // namespace plimsoll::examples
