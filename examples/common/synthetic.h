// --data synthetic: a batch drawn on the device from a seed, once, for every step. Training reads
// no file and waits for no copy, so that what is measured is the step.
//
//   const data::Batch batch = synthetic_images({224, 224, 3, 1000}, 256, seed, Device::cuda);
#pragma once

#include "examples/models/cnn_models.h"
#include "train/batches.h"

namespace plimsoll::examples {

constexpr const char* kSynthetic = "synthetic";

// x [N, H, W, C] from N(0, 1), y [N] labels, all equally likely.
data::Batch synthetic_images(ImageSize image, int64_t batch, uint64_t seed, Device device);
// x [B, T] and y [B, T]: tokens, all equally likely, and those that follow each.
data::Batch synthetic_tokens(int64_t vocabulary, int64_t batch, int64_t context, uint64_t seed,
                             Device device);
// x [B, T] words, y [B] classes.
data::Batch synthetic_passages(int64_t vocabulary, int64_t classes, int64_t batch, int64_t context,
                               uint64_t seed, Device device);

// Such a batch, which is there already, in every step and alone in an evaluation.
train::Batches synthetic_batches(const data::Batch& batch, const char* item, int64_t items);

}  // namespace plimsoll::examples
