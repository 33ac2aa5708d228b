// The images the program draws: reproducible, and neither too easy nor too hard.
#include "data/images/builtin_images.h"
#include "data/text/builtin_text.h"

#include <algorithm>
#include <cmath>

#include "core/cpu/parallel.h"
#include "data/loader.h"
#include "tests/data/testing.h"

namespace plimsoll::data {
namespace {

TEST(BuiltinImages, TooManyAreRefused) {
  EXPECT_EQ(
      error_of<ValueError>([] { draw_images(Split::train, {.count = int64_t{1} << 60}); }),
      "draw_images: there are too many images: 1152921504606846976 of at most 100000000. Draw "
      "fewer.");
}

TEST(DataBuiltin, HasTenClassesOf28x28) {
  const ImageDataset test = draw_images(Split::test);
  check_dataset(test);
  EXPECT_EQ(test.count(), 2000);
  EXPECT_EQ(test.image_bytes(), 28 * 28);
  std::vector<int> images(10);
  for (int64_t label : test.labels) ++images[static_cast<size_t>(label)];
  EXPECT_EQ(images, std::vector<int>(10, 200));
  EXPECT_EQ(error_of<ValueError>([] { draw_images(Split::train, {.count = -1}); }),
            "draw_images: the number of images is negative: -1. Pass 0 for the default.");
}

TEST(DataBuiltin, AnImageDependsOnSeedSplitAndNumberAlone) {
  const int threads = num_threads();
  set_num_threads(1);
  const std::vector<uint8_t> first = draw_images(Split::train, {.count = 100}).pixels;
  set_num_threads(4);
  const std::vector<uint8_t> more = draw_images(Split::train, {.count = 300}).pixels;
  set_num_threads(threads);
  EXPECT_TRUE(std::equal(first.begin(), first.end(), more.begin()));
  EXPECT_NE(draw_images(Split::train, {.count = 100, .seed = 1}).pixels, first);
  EXPECT_NE(draw_images(Split::test, {.count = 100}).pixels, first);
}

TEST(DataBuiltin, NoImageComesTwice) {
  const ImageDataset train = draw_images(Split::train, {.count = 2000});
  const ImageDataset test = draw_images(Split::test);
  std::vector<std::string> images;
  for (const ImageDataset* dataset : {&train, &test})
    for (int64_t i = 0; i < dataset->count(); ++i)
      images.emplace_back(dataset->pixels.begin() + i * 784,
                          dataset->pixels.begin() + i * 784 + 784);
  std::sort(images.begin(), images.end());
  EXPECT_EQ(std::adjacent_find(images.begin(), images.end()), images.end());
}

TEST(DataBuiltin, TheNormalizationIsThatOfTheTrainingImages) {
  const ImageDataset train = draw_images(Split::train);
  EXPECT_EQ(train.count(), 10'000);
  double sum = 0, squares = 0;
  for (const uint8_t pixel : train.pixels) {
    sum += pixel / 255.0;
    squares += pixel / 255.0 * pixel / 255.0;
  }
  const double n = static_cast<double>(train.pixels.size()), mean = sum / n;
  EXPECT_NEAR(mean, train.normalization.mean[0], 0.002);
  EXPECT_NEAR(std::sqrt(squares / n - mean * mean), train.normalization.stddev[0], 0.002);
}

// Softmax regression: the best a model can do that weighs each pixel once.
class LinearModel {
 public:
  void train(const Batch& batch, float rate) {
    visit(batch, [&](const float* x, int64_t label, std::array<float, 10> scores) {
      const float top = *std::max_element(scores.begin(), scores.end());
      float sum = 0;
      for (float& score : scores) sum += score = std::exp(score - top);
      for (int64_t k = 0; k < 10; ++k) {
        const float gradient = scores[k] / sum - static_cast<float>(k == label);
        for (int64_t i = 0; i < 784; ++i) weights_[k][i] -= rate * gradient * x[i];
        bias_[k] -= rate * gradient;
      }
    });
  }
  int64_t correct(const Batch& batch) {
    int64_t count = 0;
    visit(batch, [&](const float*, int64_t label, const std::array<float, 10>& scores) {
      count += std::max_element(scores.begin(), scores.end()) - scores.begin() == label;
    });
    return count;
  }

 private:
  template <class F>
  void visit(const Batch& batch, const F& f) {
    for (int64_t n = 0; n < batch.y.count(); ++n) {
      const float* x = batch.x.data<float>() + n * 784;
      std::array<float, 10> scores = bias_;
      for (int64_t k = 0; k < 10; ++k) {
        float score = 0;
#pragma omp simd reduction(+ : score)
        for (int64_t i = 0; i < 784; ++i) score += weights_[k][i] * x[i];
        scores[k] += score;
      }
      f(x, batch.y.data<int64_t>()[n], scores);
    }
  }

  std::array<std::array<float, 784>, 10> weights_{};
  std::array<float, 10> bias_{};
};

TEST(DataBuiltin, ALinearModelLearnsALittle) {
  const ImageDataset train = draw_images(Split::train, {.count = 6000});
  const ImageDataset test = draw_images(Split::test);
  Loader batches(train, {.batch = 100, .shuffle = true});
  Loader evaluation(test, {.batch = 100});
  LinearModel model;
  for (int epoch = 0; epoch < 20; ++epoch) {
    batches.start(epoch);
    while (auto batch = batches.next()) model.train(*batch, 0.0005f * (20 - epoch) / 20);
  }
  double correct = 0;
  evaluation.start(0);
  while (auto batch = evaluation.next()) correct += static_cast<double>(model.correct(*batch));
  const double accuracy = correct / static_cast<double>(test.count());
  RecordProperty("accuracy", std::to_string(accuracy));
  EXPECT_GT(accuracy, 0.20);  // twice chance: the classes can be told apart
  EXPECT_LT(accuracy, 0.95);  // and not by weighing pixels
}

TEST(DataBuiltin, TheTextIsTheSourcesInAFixedOrder) {
  const TemporaryFolder dir;
  for (const char* folder : {"core", "core/cpu", "docs", "build/core", ".git"})
    std::filesystem::create_directories(dir / folder);
  dir.write("core/b.cpp", "b");
  dir.write("core/a.h", "a");
  dir.write("core/cpu/c.h", "c");
  dir.write("docs/d.md", "d");
  dir.write("README.md", "r");
  dir.write("core/skip.txt", "x");
  dir.write("build/core/skip.h", "x");
  dir.write(".git/skip.md", "x");
  EXPECT_EQ(read_sources(dir.path()), "rdabc");
}

TEST(DataBuiltin, TheTextNeedsTheSources) {
  const TemporaryFolder dir;
  EXPECT_EQ(
      error_of<DataError>([&] { read_sources(dir / "gone"); }),
      "builtin: there are no sources to read in: " + dir.text("gone") + ". Use text:FILE instead.");
  const std::string text = read_sources(source_folder());
  EXPECT_NE(text.find("The images the program draws"), std::string::npos);
  EXPECT_EQ(read_sources(source_folder()), text);
}

}  // namespace
}  // namespace plimsoll::data
