// What predict says, as text and as JSON (docs/predict.md describes it).
//
//   Json json = about(options, trained);             // and prints the lines on top
//   json["predictions"] = predictions(asked, classified, options.top);
#pragma once

#include "examples/common/asked_images.h"
#include "examples/common/report.h"
#include "train/predict/confusion.h"

namespace plimsoll::examples {

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
