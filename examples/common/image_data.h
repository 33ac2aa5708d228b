// Where train_cnn's batches come from: a data set through two loaders, or one synthetic batch,
// which is trained on and evaluated.
//
//   const ImageData data = image_data(options, device);
//   train::Trainer trainer(*model, optimizer, data.training, data.test, options);
#pragma once

#include "examples/common/options.h"
#include "examples/models/cnn_models.h"
#include "train/batches.h"

namespace plimsoll::examples {

struct ImageData {
  ImageSize size;
  train::Batches training, test;
};

// UsageError for options that the source does not have.
ImageData image_data(const Options& options, Device device);

}  // namespace plimsoll::examples
