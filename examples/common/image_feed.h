// ImageFeed: where train_cnn's batches come from: a data set through two loaders, or one synthetic
// batch, which is trained on and evaluated.
//
//   ImageFeed feed = make_image_feed(options, device);
//   feed.start(epoch, 0);
//   const data::Batch batch = feed.next();
#pragma once

#include <functional>
#include <optional>

#include "data/batch.h"
#include "examples/common/options.h"
#include "examples/models/cnn_models.h"

namespace plimsoll::examples {

struct ImageFeed {
  ImageSize size;
  std::string name;      // "mnist train, 60000 images"
  std::string identity;  // what tells it from other data
  int64_t batches;       // of an epoch
  int64_t test_images;   // in batches of --batch; the last may be smaller
  int64_t data_bytes;    // of the data set
  int64_t host_bytes;    // of batches that are being prepared
  // The first batch of those that follow.
  std::function<void(int64_t epoch, int64_t first)> start;
  std::function<data::Batch()> next;
  // After the last batch of an epoch: those of the evaluation.
  std::function<void()> start_test;
  std::function<std::optional<data::Batch>()> next_test;
};

// UsageError for options that the source does not have.
ImageFeed make_image_feed(const Options& options, Device device);

}  // namespace plimsoll::examples
