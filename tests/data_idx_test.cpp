// The idx reader: good files, and every lie a header can tell.
#include "data/idx.h"

#include "tests/data_testing.h"

namespace plimsoll::data {
namespace {

// The header for these sizes, then `values`.
Bytes idx(const std::vector<uint32_t>& sizes, const Bytes& values) {
  Bytes bytes = {0, 0, 8, static_cast<uint8_t>(sizes.size())};
  for (uint32_t size : sizes)
    for (int shift = 24; shift >= 0; shift -= 8)
      bytes.push_back(static_cast<uint8_t>(size >> shift));
  bytes.insert(bytes.end(), values.begin(), values.end());
  return bytes;
}

// Two images of 1 x 3 pixels.
const Bytes kImages = idx({2, 1, 3}, {10, 20, 30, 40, 50, 60});
const Bytes kLabels = idx({2}, {7, 0});

std::string refusal(Bytes bytes, int axes = 3) {
  return error_of<DataError>([&] { parse_idx(bytes, axes, "f"); });
}

TEST(DataIdx, LoadsPlainAndGzippedFiles) {
  const TemporaryFolder dir;
  dir.write("train-images-idx3-ubyte.gz", gzip(kImages));
  dir.write("train-labels-idx1-ubyte", kLabels);
  const ImageDataset train = load_mnist(dir.path(), Split::train);
  EXPECT_EQ(train.name, "mnist train");
  EXPECT_EQ(train.count(), 2);
  EXPECT_EQ(train.height, 1);
  EXPECT_EQ(train.width, 3);
  EXPECT_EQ(train.channels, 1);
  EXPECT_EQ(train.classes, 10);
  EXPECT_EQ(train.normalization, kMnistNormalization);
  EXPECT_EQ(train.pixels, (Bytes{10, 20, 30, 40, 50, 60}));
  EXPECT_EQ(train.labels, (std::vector<int64_t>{7, 0}));
  EXPECT_EQ(load_fashion_mnist(dir.path(), Split::train).normalization, kFashionNormalization);
}

TEST(DataIdx, TheTestSplitHasItsOwnFiles) {
  const TemporaryFolder dir;
  dir.write("t10k-images-idx3-ubyte", kImages);
  dir.write("t10k-labels-idx1-ubyte.gz", gzip(kLabels));
  EXPECT_EQ(load_mnist(dir.path(), Split::test).name, "mnist test");
  EXPECT_EQ(error_of<DataError>([&] { load_mnist(dir.path(), Split::train); }),
            "data: neither train-images-idx3-ubyte nor train-images-idx3-ubyte.gz is in the "
            "folder: " +
                dir.path().string() +
                ". Check the path, or fetch the data with tools/get_data.sh.");
}

TEST(DataIdx, RefusesATruncatedHeader) {
  for (size_t size = 0; size < 16; ++size)
    EXPECT_EQ(refusal(Bytes(kImages.begin(), kImages.begin() + size)),
              cat("idx: the file is shorter than its header: f has ", size,
                  " of 16 bytes. Fetch it again."));
}

TEST(DataIdx, RefusesAWrongMagicTypeOrRank) {
  Bytes bytes = kImages;
  bytes[0] = 'P';
  EXPECT_EQ(refusal(bytes),
            "idx: this is not an idx file: f begins with bytes 80 0 where 0 0 belong. "
            "Name an idx file.");
  bytes = kImages;
  bytes[2] = 13;
  EXPECT_EQ(refusal(bytes),
            "idx: only unsigned bytes are read: f has type 13, unsigned byte is 8. "
            "Convert the file.");
  EXPECT_EQ(refusal(kImages, 1),
            "idx: the number of axes is wrong: f has 3 axes, needed are 1. "
            "Check that images and labels are not swapped.");
}

TEST(DataIdx, RefusesSizesThatDoNotMatchTheContent) {
  Bytes bytes = kImages;
  bytes.pop_back();
  EXPECT_EQ(refusal(bytes),
            "idx: header and content do not match: f claims 2 x 1 x 3 = 6 bytes and holds 5. "
            "Fetch it again.");
  EXPECT_EQ(refusal(idx({2, 1, 2}, {1, 2, 3, 4, 5})),
            "idx: header and content do not match: f claims 2 x 1 x 2 = 4 bytes and holds 5. "
            "Fetch it again.");
  EXPECT_EQ(refusal(idx({0x80000000u, 1, 1}, {1})),
            "idx: header and content do not match: f claims 2147483648 x 1 x 1 = 2147483648 bytes "
            "and holds 1. Fetch it again.");
}

TEST(DataIdx, RefusesSizesThatOverflow) {
  // 2^32 - 1 cubed is past 64 bits; 2^31 x 2^31 x 4 is 0 modulo 2^64 and must not pass for empty.
  EXPECT_EQ(refusal(idx({~0u, ~0u, ~0u}, {1})),
            "idx: the sizes in the header overflow: f claims 4294967295 x 4294967295 x 4294967295 "
            "bytes. Fetch it again.");
  EXPECT_EQ(refusal(idx({1u << 31, 1u << 31, 4}, {})),
            "idx: the sizes in the header overflow: f claims 2147483648 x 2147483648 x 4 bytes. "
            "Fetch it again.");
}

TEST(DataIdx, RefusesAnEmptyDataset) {
  const TemporaryFolder dir;
  dir.write("train-images-idx3-ubyte", idx({0, 28, 28}, {}));
  dir.write("train-labels-idx1-ubyte", idx({0}, {}));
  EXPECT_EQ(error_of<DataError>([&] { load_mnist(dir.path(), Split::train); }),
            "dataset: it is empty: mnist train has no images. Use one with at least one image.");
}

TEST(DataIdx, RefusesImagesWithoutPixels) {
  const TemporaryFolder dir;
  dir.write("train-images-idx3-ubyte", idx({2, 0, 28}, {}));
  dir.write("train-labels-idx1-ubyte", kLabels);
  EXPECT_EQ(error_of<DataError>([&] { load_mnist(dir.path(), Split::train); }),
            "dataset: images need a height, a width and 1 to 3 channels: mnist train has "
            "0 x 28 x 1. Set all three.");
}

TEST(DataIdx, RefusesLabelsThatDoNotBelong) {
  const TemporaryFolder dir;
  dir.write("train-images-idx3-ubyte", kImages);
  dir.write("train-labels-idx1-ubyte", idx({3}, {7, 0, 1}));
  EXPECT_EQ(error_of<DataError>([&] { load_mnist(dir.path(), Split::train); }),
            "idx: images and labels do not match: " + dir.text("train-images-idx3-ubyte") +
                " has 2 images, " + dir.text("train-labels-idx1-ubyte") +
                " has 3 labels. Use two files of one dataset.");
  dir.write("train-labels-idx1-ubyte", idx({2}, {7, 10}));
  EXPECT_EQ(error_of<DataError>([&] { load_mnist(dir.path(), Split::train); }),
            "dataset: a label is out of range: mnist train image 1 has label 10 of 10 classes. "
            "Check that the labels belong to these images.");
}

}  // namespace
}  // namespace plimsoll::data
