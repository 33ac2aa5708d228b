// What predict is asked about, and what it says, as text and as JSON (docs/predict.md describes
// it).
//
//   const AskedImages asked = asked_images(options, trained);
//   Json json = about(options, trained);             // and prints the lines on top
//   json["predictions"] = predictions(asked, classified, options.top);
#pragma once

#include <optional>

#include "examples/common/report.h"
#include "examples/common/trained_model.h"
#include "train/predict/confusion.h"

namespace plimsoll::examples {

// Pictures in files, then entries of the test split, as one data set, so that they meet the net
// exactly as in its training.
struct AskedImages {
  data::ImageDataset images;                  // labels of pictures are 0, and mean nothing
  std::vector<std::string> names;             // of each: its file, or "mnist test 17"
  std::vector<std::optional<int64_t>> entry;  // its number in the test split; none: a picture
};

// Nothing where none is asked for. UsageError for entries that are no numbers or not in the split;
// DataError for pictures that cannot be read or do not fit.
AskedImages asked_images(const PredictOptions& options, const TrainedModel& trained);

// The net, its weights, and what turns a byte into what it sees: whoever uses exported weights
// needs that.
Json about(const PredictOptions& options, const TrainedModel& trained);

// A line and an element for each image.
Json predictions(const AskedImages& asked, const train::Classified& classified, int64_t most);

// Loss and accuracy, to the last digit.
Json evaluation(const data::ImageDataset& images, const train::Classified& classified);

Json confusion_matrix(const train::Confusion& confusion);

// A line and an element for each.
Json worst(const TrainedModel& trained, std::span<const train::Mistake> mistakes);

// A page with the pictures of the mistakes.
std::string page_of(const TrainedModel& trained, const train::Classified& classified,
                    std::span<const train::Mistake> mistakes);

}  // namespace plimsoll::examples
