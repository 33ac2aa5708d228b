// The CIFAR-10 reader: the order of bytes and files, and files that lie.
#include "data/cifar10.h"

#include "tests/data_testing.h"

namespace plimsoll::data {
namespace {

// A record whose pixel (y, x) of channel c is 100 c + y + x.
Bytes record(uint8_t label) {
  Bytes bytes = {label};
  for (int c = 0; c < 3; ++c)
    for (int y = 0; y < 32; ++y)
      for (int x = 0; x < 32; ++x) bytes.push_back(static_cast<uint8_t>(100 * c + y + x));
  return bytes;
}

TEST(DataCifar10, PlanesBecomeChannels) {
  ImageDataset dataset;
  append_cifar10(record(3), "f", dataset);
  ASSERT_EQ(dataset.pixels.size(), size_t{3072});
  for (int y = 0; y < 32; ++y)
    for (int x = 0; x < 32; ++x)
      for (int c = 0; c < 3; ++c)
        ASSERT_EQ(dataset.pixels[(32 * y + x) * 3 + c], static_cast<uint8_t>(100 * c + y + x));
  EXPECT_EQ(dataset.labels, std::vector<int64_t>{3});
}

TEST(DataCifar10, ReadsAllBatchesInOrderOfTheirNames) {
  const TemporaryFolder dir;
  dir.write("data_batch_2.bin", record(2));
  dir.write("data_batch_1.bin.gz", gzip(record(1)));
  dir.write("data_batch_3.bin", record(3));
  dir.write("data_batch_3.bin.gz", gzip(record(9)));  // the same batch again: not read
  dir.write("test_batch_2000.bin.gz", gzip(record(8)));
  dir.write("batches.meta.txt", Bytes{'x'});
  const ImageDataset train = load_cifar10(dir.path(), Split::train);
  EXPECT_EQ(train.labels, (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(train.name, "cifar10 train");
  EXPECT_EQ(train.height, 32);
  EXPECT_EQ(train.width, 32);
  EXPECT_EQ(train.channels, 3);
  EXPECT_EQ(train.classes, 10);
  EXPECT_EQ(load_cifar10(dir.path(), Split::test).labels, std::vector<int64_t>{8});
}

TEST(DataCifar10, RefusesAMissingFolderOrBatch) {
  const TemporaryFolder dir;
  EXPECT_EQ(error_of<DataError>([&] { load_cifar10(dir / "none", Split::train); }),
            "data: there is no such folder: " + dir.text("none") +
                ". Check the path, or fetch the data with get_data.");
  EXPECT_EQ(error_of<DataError>([&] { load_cifar10(dir.path(), Split::test); }),
            "cifar10: no file test_batch*.bin or test_batch*.bin.gz is in the folder: " +
                dir.path().string() + ". Check the path, or fetch the data with get_data.");
}

TEST(DataCifar10, RefusesIncompleteRecords) {
  ImageDataset dataset;
  for (const int64_t size : {0, 1, 3072, 3074}) {
    EXPECT_EQ(error_of<DataError>([&] { append_cifar10(Bytes(size), "f", dataset); }),
              cat("cifar10: the file is not whole records of 3073 bytes: f has ", size,
                  " bytes. Fetch it again."));
  }
  EXPECT_EQ(dataset.count(), 0);
}

TEST(DataCifar10, RefusesLabelsOutOfRange) {
  ImageDataset dataset;
  Bytes bytes = record(9);
  const Bytes bad = record(10);
  bytes.insert(bytes.end(), bad.begin(), bad.end());
  EXPECT_EQ(error_of<DataError>([&] { append_cifar10(bytes, "f", dataset); }),
            "cifar10: a label is out of range: f record 1 has label 10 of 10 classes. "
            "Fetch it again.");
  EXPECT_EQ(dataset.count(), 0);
}

}  // namespace
}  // namespace plimsoll::data
