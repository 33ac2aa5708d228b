// Loader: an image dataset as shuffled, augmented, normalised batches, prepared in the background.
//
//   Loader loader(train, {.batch = 128, .shuffle = true, .seed = 1, .drop_last = true});
//   for (int epoch = 0; epoch < 5; ++epoch) {
//     loader.start(epoch);
//     while (auto batch = loader.next()) train_step(batch->x, batch->y);
//   }
//
// The batches are the same, bit for bit, for every number of workers.
#pragma once

#include <memory>
#include <optional>

#include "data/batch.h"
#include "data/images/augment.h"

namespace plimsoll::data {

struct LoaderAttrs {
  int64_t batch = 32;           // images in a batch
  bool shuffle = false;         // another order in every epoch
  uint64_t seed = 0;            // of the orders and of what is drawn to augment
  bool drop_last = false;       // leave out the last batch when it would be smaller
  AugmentAttrs augment = {};    // none, as for testing
  int64_t workers = 1;          // threads that prepare batches; 0: none
  int64_t prefetch = 2;         // batches prepared ahead by each; 0: none, and no thread
  Device device = Device::cpu;  // where the batches lie
  // What a net was trained with; nothing: the dataset's own.
  std::optional<Normalization> normalization = {};
};

// The order of epoch `epoch`: a permutation of 0 ... n - 1, a pure function of its arguments
// (Fisher-Yates with Philox).
std::vector<int64_t> permutation(int64_t n, uint64_t seed, uint64_t epoch);

class Loader {
 public:
  // Keeps a reference: `dataset` must outlive the loader. DataError when the dataset is empty or
  // does not fit together, or the batch is larger than it; ValueError for batch < 1, for workers
  // or prefetch outside 0 ... 1024, and from check_augment.
  explicit Loader(const ImageDataset& dataset, LoaderAttrs attrs = {});
  Loader(ImageDataset&&, LoaderAttrs = {}) = delete;  // would die before the first batch
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  const ImageDataset& dataset() const { return dataset_; }
  const LoaderAttrs& attrs() const { return attrs_; }
  const Normalization& normalization() const;  // in effect
  // Batches in an epoch.
  int64_t batches() const;

  // The most bytes that batches take before they are tensors, in memory of the host that no pool
  // counts: those that the workers have prepared ahead and the one that is being taken.
  int64_t host_bytes() const;

  // From the next start() on only those batches are made whose number, counted within windows of
  // `window` batches from the beginning of each epoch, is first ... first + count - 1: the share of
  // one of several processes. ValueError where a window has no such batches.
  void share(int64_t window, int64_t first, int64_t count);

  // Begins an epoch; one that is under way is given up. Batches before number `first` are left
  // out without being made, and the others are what they would have been, so that (epoch, batch) is
  // a position to begin at again. ValueError unless 0 <= first <= batches().
  void start(uint64_t epoch, int64_t first = 0);

  // The next batch: x f32 [N, H, W, C] as Normalization says, y i64 [N]. Nothing at the end of the
  // epoch. StateError before start(), OutOfMemory; an error of a background thread comes out
  // here.
  std::optional<Batch> next();

 private:
  struct HostBatch;  // a batch before it is tensors
  HostBatch gather(const std::vector<int64_t>& order, uint64_t epoch, int64_t index) const;

  const ImageDataset& dataset_;
  LoaderAttrs attrs_;
  struct Share {
    int64_t window = 1, first = 0, count = 1;
  } share_;                        // all of them
  std::vector<float> normalized_;  // [C, 256]: what each byte of each channel becomes
  struct Epoch;                    // a stream of batches (data/pipeline.h)
  std::unique_ptr<Epoch> epoch_;
};

}  // namespace plimsoll::data
