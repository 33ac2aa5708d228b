// The published datasets, where the variable PLIMSOLL_DATA names a folder that holds mnist/,
// fashion-mnist/, cifar10-subset/ and tinyshakespeare/.
#include <cmath>
#include <cstdlib>

#include "data/images/cifar10.h"
#include "data/images/idx.h"
#include "data/source.h"
#include "tests/data/testing.h"

namespace plimsoll::data {
namespace {

class DataReal : public testing::Test {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("PLIMSOLL_DATA");
    if (!folder) GTEST_SKIP() << "set PLIMSOLL_DATA to the folder that holds mnist/ and others";
    root_ = folder;
  }
  std::filesystem::path root_;
};

void expect_normalized(const ImageDataset& dataset, double tolerance) {
  for (int64_t channel = 0; channel < dataset.channels; ++channel) {
    double sum = 0, squares = 0, n = 0;
    for (size_t i = channel; i < dataset.pixels.size(); i += dataset.channels, ++n) {
      sum += dataset.pixels[i] / 255.0;
      squares += dataset.pixels[i] / 255.0 * dataset.pixels[i] / 255.0;
    }
    EXPECT_NEAR(sum / n, dataset.normalization.mean[channel], tolerance);
    EXPECT_NEAR(std::sqrt(squares / n - sum / n * sum / n), dataset.normalization.stddev[channel],
                tolerance);
  }
}

TEST_F(DataReal, Mnist) {
  const auto [train, test] = load_images("mnist:" + (root_ / "mnist").string());
  EXPECT_EQ(train.count(), 60'000);
  EXPECT_EQ(test.count(), 10'000);
  EXPECT_EQ(train.height, 28);
  EXPECT_EQ(train.width, 28);
  EXPECT_EQ(std::vector(train.labels.begin(), train.labels.begin() + 5),
            (std::vector<int64_t>{5, 0, 4, 1, 9}));
  expect_normalized(train, 5e-5);
}

TEST_F(DataReal, FashionMnist) {
  const auto [train, test] = load_images("fashion:" + (root_ / "fashion-mnist").string());
  EXPECT_EQ(train.count(), 60'000);
  EXPECT_EQ(test.count(), 10'000);
  expect_normalized(train, 5e-5);
}

TEST_F(DataReal, Cifar10Subset) {
  const auto [train, test] = load_images("cifar10:" + (root_ / "cifar10-subset").string());
  EXPECT_EQ(train.count(), 10'000);
  EXPECT_EQ(test.count(), 2'000);
  expect_normalized(train, 5e-3);  // the constants are those of all 50,000
}

TEST_F(DataReal, TinyShakespeare) {
  const TextDataset text = load_text("text:" + (root_ / "tinyshakespeare/input.txt").string());
  EXPECT_EQ(text.train.size() + text.validation.size(), size_t{1'115'394});
  EXPECT_EQ(text.train.size(), size_t{1'003'854});
  EXPECT_EQ(text.vocabulary.size(), 65);
  const std::vector<int64_t> first(text.train.begin(), text.train.begin() + 14);
  EXPECT_EQ(text.vocabulary.decode(first), "First Citizen:");
}

}  // namespace
}  // namespace plimsoll::data
