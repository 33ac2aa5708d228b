// The loader: order, batches, normalisation, and any number of background threads.
#include "data/loader.h"

#include <algorithm>
#include <map>
#include <set>
#include <thread>

#include "data/images/builtin_images.h"
#include "tests/data/testing.h"

namespace plimsoll::data {
namespace {

// Image i: 2 x 1 pixels of 3 channels, bytes 6 i ... 6 i + 5; label i mod 10.
ImageDataset numbered(int64_t count) {
  ImageDataset dataset{.name = "numbered",
                       .height = 2,
                       .width = 1,
                       .channels = 3,
                       .classes = 10,
                       .normalization = {{0.5f, 0.25f, 0}, {0.5f, 2, 1}},
                       .pixels = {},
                       .labels = {}};
  for (int64_t i = 0; i < 6 * count; ++i) dataset.pixels.push_back(static_cast<uint8_t>(i));
  for (int64_t i = 0; i < count; ++i) dataset.labels.push_back(i % 10);
  return dataset;
}

struct Epoch {
  std::vector<std::vector<float>> x;
  std::vector<std::vector<int64_t>> y;
  bool operator==(const Epoch&) const = default;
};

Epoch read_epoch(Loader& loader, uint64_t epoch, int64_t first_batch = 0) {
  Epoch all;
  loader.start(epoch, first_batch);
  while (auto batch = loader.next()) {
    all.x.push_back(batch->x.to_vector<float>());
    all.y.push_back(batch->y.to_vector<int64_t>());
  }
  EXPECT_FALSE(loader.next());  // the end stays the end
  EXPECT_EQ(std::ssize(all.x), loader.batches() - first_batch);
  return all;
}

TEST(DataLoader, APermutationIsAFunctionOfSeedAndEpoch) {
  const auto order = permutation(1000, 1, 0);
  EXPECT_EQ(std::set<int64_t>(order.begin(), order.end()).size(), size_t{1000});
  EXPECT_EQ(*std::min_element(order.begin(), order.end()), 0);
  EXPECT_EQ(*std::max_element(order.begin(), order.end()), 999);
  EXPECT_EQ(permutation(1000, 1, 0), order);
  EXPECT_NE(permutation(1000, 1, 1), order);
  EXPECT_NE(permutation(1000, 2, 0), order);
  EXPECT_TRUE(permutation(0, 1, 0).empty());
}

TEST(DataLoader, PermutationsAreUniform) {
  // Each of the 24 orders of 4 should come 1000 times; the standard deviation is 31.
  std::map<std::vector<int64_t>, int> times;
  for (uint64_t epoch = 0; epoch < 24'000; ++epoch) ++times[permutation(4, 7, epoch)];
  ASSERT_EQ(times.size(), size_t{24});
  for (const auto& [order, count] : times) EXPECT_NEAR(count, 1000, 160);
}

TEST(DataLoader, ImagesAreNormalizedByChannel) {
  const ImageDataset dataset = numbered(3);
  Loader loader(dataset, {.batch = 2});
  loader.start(0);
  const auto batch = loader.next();
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->x.shape(), (Shape{2, 2, 1, 3}));
  EXPECT_EQ(batch->y.shape(), (Shape{2}));
  const auto x = batch->x.to_vector<float>();
  for (size_t i = 0; i < x.size(); ++i) {
    const auto& [mean, stddev] = dataset.normalization;
    EXPECT_FLOAT_EQ(x[i], (static_cast<float>(i) / 255 - mean[i % 3]) / stddev[i % 3]);
  }
  EXPECT_EQ(batch->y.to_vector<int64_t>(), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(batch->x.value().storage->memory_class(), MemoryClass::input);
  EXPECT_EQ(batch->y.value().storage->memory_class(), MemoryClass::input);
}

TEST(DataLoader, EveryImageComesOnceInAnEpoch) {
  const ImageDataset dataset = numbered(10);
  Loader keep(dataset, {.batch = 4, .shuffle = true, .seed = 3});
  Loader drop(dataset, {.batch = 4, .shuffle = true, .seed = 3, .drop_last = true});
  const Epoch all = read_epoch(keep, 0);
  ASSERT_EQ(all.y.size(), size_t{3});
  EXPECT_EQ(all.y[2].size(), size_t{2});
  std::multiset<int64_t> labels;
  for (const auto& y : all.y) labels.insert(y.begin(), y.end());
  EXPECT_EQ(labels, (std::multiset<int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  const Epoch fewer = read_epoch(drop, 0);
  EXPECT_EQ(fewer.y, (std::vector{all.y[0], all.y[1]}));
  EXPECT_NE(read_epoch(keep, 1), all);
  EXPECT_EQ(read_epoch(keep, 0), all);
}

// Two epochs with everything on, as 0, 1 and 4 workers make them.
TEST(DataLoader, WorkersChangeNothing) {
  const ImageDataset dataset = draw_images(Split::train, {.count = 300});
  const auto read = [&](int64_t workers, int64_t prefetch) {
    Loader loader(dataset, {.batch = 16,
                            .shuffle = true,
                            .seed = 1,
                            .augment = {.crop = 4, .flip = true, .cutout = 8},
                            .workers = workers,
                            .prefetch = prefetch});
    return std::vector{read_epoch(loader, 0), read_epoch(loader, 1)};
  };
  const auto plain = read(0, 2);
  EXPECT_NE(plain[0], plain[1]);
  for (const int64_t prefetch : {0, 1, 2, 100}) {
    EXPECT_EQ(read(1, prefetch), plain);
    EXPECT_EQ(read(4, prefetch), plain);
  }
}

TEST(DataLoader, AnEpochMayBeginAtAnyBatch) {
  const ImageDataset dataset = numbered(37);
  for (const int64_t workers : {0, 3}) {
    Loader loader(dataset, {.batch = 5,
                            .shuffle = true,
                            .seed = 1,
                            .augment = {.crop = 1, .flip = true},
                            .workers = workers});
    const Epoch all = read_epoch(loader, 2);
    for (int64_t first = 0; first <= loader.batches(); ++first) {
      const Epoch rest = read_epoch(loader, 2, first);
      EXPECT_EQ(rest.x, std::vector(all.x.begin() + first, all.x.end()));
      EXPECT_EQ(rest.y, std::vector(all.y.begin() + first, all.y.end()));
    }
  }
}

TEST(DataLoader, AnEpochCanBeGivenUp) {
  const ImageDataset dataset = numbered(100);
  const int64_t live = Storage::live();
  for (int taken = 0; taken < 4; ++taken) {
    Loader loader(dataset, {.batch = 3, .workers = taken, .prefetch = 2});
    loader.start(0);
    for (int i = 0; i < taken; ++i) EXPECT_TRUE(loader.next());
    loader.start(1);  // gives up epoch 0
    EXPECT_TRUE(loader.next());
  }  // gives up epoch 1
  EXPECT_EQ(Storage::live(), live);
}

TEST(DataLoader, TensorsExistOnlyForBatchesTaken) {
  const ImageDataset dataset = numbered(100);
  const int64_t live = Storage::live();
  Loader loader(dataset, {.batch = 10, .prefetch = 4});
  loader.start(0);
  const auto batch = loader.next();
  EXPECT_EQ(Storage::live(), live + 2);
}

TEST(DataLoader, SaysWhatBatchesInPreparationTake) {
  const ImageDataset dataset = numbered(100);
  constexpr int64_t kImage = 6 * sizeof(float) + sizeof(int64_t);
  EXPECT_EQ(Loader(dataset, {.batch = 20, .workers = 3, .prefetch = 4}).host_bytes(),
            13 * 20 * kImage);
  EXPECT_EQ(Loader(dataset, {.batch = 20, .workers = 0}).host_bytes(), 20 * kImage);
  EXPECT_EQ(Loader(dataset, {.batch = 20, .prefetch = 0}).host_bytes(), 20 * kImage);
}

TEST(DataLoader, RefusesBadArguments) {
  const ImageDataset dataset = numbered(4);
  EXPECT_EQ(error_of<DataError>([&] { Loader(dataset, {.batch = 5}); }),
            "loader: the batch is larger than the data: 5 images wanted, numbered has 4. "
            "Use a smaller batch.");
  EXPECT_EQ(error_of<ValueError>([&] { Loader(dataset, {.batch = 0}); }),
            "loader: a batch needs at least one image: 0. Pass 1 or more.");
  EXPECT_EQ(error_of<ValueError>([&] { Loader(dataset, {.batch = 1, .prefetch = -1}); }),
            "loader: prefetch counts batches: -1. Pass 0 to 1024.");
  EXPECT_EQ(error_of<ValueError>([&] { Loader(dataset, {.batch = 1, .workers = 1025}); }),
            "loader: workers counts threads: 1025. Pass 0 to 1024.");
  EXPECT_EQ(error_of<ValueError>([&] { Loader(dataset, {.batch = 1, .augment = {.crop = -1}}); }),
            "augment: this is no number of pixels: -1. Pass 0 to 1024.");
  const ImageDataset empty = numbered(0);
  EXPECT_EQ(error_of<DataError>([&] { Loader loader(empty); }),
            "dataset: it is empty: numbered has no images. Use one with at least one image.");
  Loader loader(dataset, {.batch = 4});
  EXPECT_EQ(error_of<StateError>([&] { loader.next(); }),
            "loader: no epoch was begun. Call start(epoch) first.");
  for (const int64_t first : {-1, 2})
    EXPECT_EQ(error_of<ValueError>([&] { loader.start(0, first); }),
              cat("loader: there is no such batch: ", first, " of 1. Count from 0."));
}

TEST(DataLoader, RefusesADatasetThatDoesNotFitTogether) {
  ImageDataset dataset = numbered(4);
  dataset.pixels.pop_back();
  EXPECT_EQ(error_of<DataError>([&] { Loader(dataset, {.batch = 1}); }),
            "dataset: pixels and labels do not match: numbered has 23 bytes of pixels for 4 labels "
            "and images of 6 bytes. Give each image one label.");
  dataset = numbered(4);
  dataset.labels[2] = -1;
  EXPECT_EQ(error_of<DataError>([&] { Loader(dataset, {.batch = 1}); }),
            "dataset: a label is out of range: numbered image 2 has label -1 of 10 classes. "
            "Check that the labels belong to these images.");
}

}  // namespace
}  // namespace plimsoll::data
