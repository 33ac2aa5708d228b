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

// A gzip file of `records` black images, all with this label.
Bytes batch(int64_t records, uint8_t label) {
  Bytes bytes(static_cast<size_t>(records * kCifar10RecordBytes));
  for (int64_t i = 0; i < records; ++i) bytes[static_cast<size_t>(i * kCifar10RecordBytes)] = label;
  return gzip(bytes);
}

TEST(DataCifar10, ReadsTheBatchesOfItsNamesInOrder) {
  const TemporaryFolder dir;
  dir.write("data_batch_2.bin.gz", batch(10'000, 2));
  dir.write("data_batch_1.bin", batch(10'000, 1));  // gzip or not is seen in the file
  dir.write("data_batch_1.bin.gz", record(9));      // the same batch again: not read
  dir.write("test_batch_3.bin.gz", batch(3, 8));
  for (const char* other :
       {"batches.meta.txt", "data_batch_0.bin", "data_batch_6.bin", "data_batch_10.bin",
        "data_batch_1_old.bin", "data_batch_.bin", "test_batch_old.bin", "test_batch_2k.bin",
        "test_batch_0.bin", "test_batch_.bin", "test_batch_-1.bin", "test_batch.bin.bak"})
    dir.write(other, "not read");
  const ImageDataset train = load_cifar10(dir.path(), Split::train);
  ASSERT_EQ(train.count(), 20'000);
  for (int64_t i = 0; i < train.count(); ++i) ASSERT_EQ(train.labels[i], i < 10'000 ? 1 : 2);
  EXPECT_EQ(train.name, "cifar10 train (2 of 5 batches)");
  EXPECT_EQ(train.height, 32);
  EXPECT_EQ(train.width, 32);
  EXPECT_EQ(train.channels, 3);
  EXPECT_EQ(train.classes, 10);
  const ImageDataset test = load_cifar10(dir.path(), Split::test);
  EXPECT_EQ(test.labels, (std::vector<int64_t>{8, 8, 8}));
  EXPECT_EQ(test.name, "cifar10 test");
}

TEST(DataCifar10, AllFiveBatchesAreTheWholeSet) {
  const TemporaryFolder dir;
  const Bytes bytes = batch(10'000, 0);
  for (int i = 1; i <= 5; ++i) dir.write(cat("data_batch_", i, ".bin.gz"), bytes);
  const ImageDataset train = load_cifar10(dir.path(), Split::train);
  EXPECT_EQ(train.count(), 50'000);
  EXPECT_EQ(train.name, "cifar10 train");
}

TEST(DataCifar10, RefusesFilesWithAnotherNumberOfRecords) {
  const TemporaryFolder dir;
  const auto refusal = [&](const std::string& name, int64_t has, int64_t wanted) {
    return cat("cifar10: the file has not as many records as its name says: ", dir.text(name),
               " has ", has, " of ", wanted, ". Fetch it again.");
  };
  const auto load = [&](Split split) {
    return error_of<DataError>([&] { load_cifar10(dir.path(), split); });
  };
  dir.write("data_batch_3.bin.gz", batch(9'999, 0));
  EXPECT_EQ(load(Split::train), refusal("data_batch_3.bin.gz", 9'999, 10'000));
  dir.write("data_batch_3.bin.gz", batch(10'001, 0));
  EXPECT_EQ(load(Split::train), refusal("data_batch_3.bin.gz", 10'001, 10'000));
  dir.write("test_batch_2.bin", record(1));
  EXPECT_EQ(load(Split::test), refusal("test_batch_2.bin", 1, 2));
  dir.write("test_batch.bin", record(1));
  EXPECT_EQ(load(Split::test),
            "cifar10: the folder has 2 test sets: " + dir.text("test_batch.bin") + " and " +
                dir.text("test_batch_2.bin") + ". Leave one of them there.");
  std::filesystem::remove(dir / "test_batch_2.bin");
  EXPECT_EQ(load(Split::test), refusal("test_batch.bin", 1, 10'000));
}

TEST(DataCifar10, RefusesAMissingFolderOrBatch) {
  const TemporaryFolder dir;
  EXPECT_EQ(error_of<DataError>([&] { load_cifar10(dir / "none", Split::train); }),
            "data: there is no such folder: " + dir.text("none") +
                ". Check the path, or fetch the data with tools/get_data.sh.");
  const std::pair<Split, std::string> missing[] = {
      {Split::train, "data_batch_1.bin to data_batch_5.bin"}, {Split::test, "test_batch.bin"}};
  for (const auto& [split, names] : missing)
    EXPECT_EQ(error_of<DataError>([&, split = split] { load_cifar10(dir.path(), split); }),
              "cifar10: no file " + names +
                  ", with or without .gz, is in the folder: " + dir.path().string() +
                  ". Check the path, or fetch the data with tools/get_data.sh.");
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
