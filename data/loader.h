// Loader: an image dataset as shuffled, normalised batches, prepared on a background thread.
//
//   Loader loader(train, {.batch = 128, .shuffle = true, .seed = 1, .drop_last = true});
//   for (int epoch = 0; epoch < 5; ++epoch) {
//     loader.start(epoch);
//     while (auto batch = loader.next()) train_step(batch->x, batch->y);
//   }
#pragma once

#include "data/batch.h"
#include "data/dataset.h"
#include "data/prefetch.h"

namespace plimsoll::data {

struct LoaderAttrs {
  int64_t batch = 32;           // images in a batch
  bool shuffle = false;         // another order in every epoch
  uint64_t seed = 0;            // of the orders
  bool drop_last = false;       // leave out the last batch when it would be smaller
  int64_t prefetch = 2;         // batches prepared ahead; 0: none, and no thread
  Device device = Device::cpu;  // where the batches lie
};

// The order of epoch `epoch`: a permutation of 0 ... n - 1, a pure function of its arguments
// (Fisher-Yates with Philox).
std::vector<int64_t> permutation(int64_t n, uint64_t seed, uint64_t epoch);

class Loader {
 public:
  // Keeps a reference: `dataset` must outlive the loader. DataError when the dataset is empty or
  // does not fit together, or the batch is larger than it; ValueError for batch < 1, prefetch < 0.
  explicit Loader(const ImageDataset& dataset, LoaderAttrs attrs = {});
  Loader(ImageDataset&&, LoaderAttrs = {}) = delete;  // would die before the first batch

  // Batches in an epoch.
  int64_t batches() const;

  // Begins an epoch, with batch number `first`: as if those before it had been taken. An epoch that
  // is under way is given up. ValueError unless 0 <= first <= batches().
  void start(uint64_t epoch, int64_t first = 0);

  // The next batch: x f32 [N, H, W, C] as Normalization says, y i64 [N]. Nothing at the end of the
  // epoch. StateError before start(), OutOfMemory; an error of the background thread comes out
  // here.
  std::optional<Batch> next();

 private:
  // A batch before it is tensors: plain memory, which any thread may fill.
  struct HostBatch {
    std::vector<float> x;
    std::vector<int64_t> y;
  };
  HostBatch gather(const std::vector<int64_t>& order, int64_t index) const;

  const ImageDataset& dataset_;
  LoaderAttrs attrs_;
  std::vector<float> normalized_;  // [C, 256]: what each byte of each channel becomes
  std::optional<Prefetch<HostBatch>> epoch_;
};

}  // namespace plimsoll::data
