// Where train_cnn's batches come from: a data set through two loaders, or one synthetic batch,
// which is trained on and evaluated.
//
//   const ImageData data = image_data(options, device);
//   train::Trainer trainer(*model, optimizer, data.training, data.test, options);
#pragma once

#include "examples/common/options.h"
#include "examples/models/cnn_models.h"
#include "formats/image_folder.h"
#include "train/batches.h"

namespace plimsoll::examples {

struct ImageData {
  ImageSize size;
  train::Batches training, test;
};

// UsageError for options that the source does not have.
ImageData image_data(const Options& options, Device device);

// What becomes of the pictures of a folder. UsageError for options that other data do not have.
formats::FolderAttrs folder_attrs(const Options& options);

}  // namespace plimsoll::examples
