// Augmentation: what each part does to the pixels, against a loop over a padded copy, and that what
// is drawn depends on seed, epoch and image only, evenly.
#include "data/images/augment.h"

#include <cmath>
#include <map>

#include "data/loader.h"
#include "tests/data/testing.h"

namespace plimsoll::data {
namespace {

// Image i: pixel (y, x) of channel c is 1 + 64 i + 16 c + 4 y + x, so that none is black.
ImageDataset numbered() {
  ImageDataset dataset{.name = "numbered",
                       .height = 3,
                       .width = 4,
                       .channels = 2,
                       .classes = 2,
                       .normalization = {},
                       .pixels = {},
                       .labels = {0, 1}};
  for (int i = 0; i < 2; ++i)
    for (int y = 0; y < 3; ++y)
      for (int x = 0; x < 4; ++x)
        for (int c = 0; c < 2; ++c)
          dataset.pixels.push_back(static_cast<uint8_t>(1 + 64 * i + 16 * c + 4 * y + x));
  return dataset;
}

// A byte of channel c becomes byte + 1000 c + 0.5, so 0 is never a pixel.
std::vector<float> table() {
  std::vector<float> values;
  for (int c = 0; c < 2; ++c)
    for (int byte = 0; byte < 256; ++byte)
      values.push_back(static_cast<float>(byte + 1000 * c) + 0.5f);
  return values;
}

TEST(DataAugment, CutsAWindowOutOfThePaddedImage) {
  const ImageDataset dataset = numbered();
  constexpr int64_t kPad = 5;
  for (int64_t image = 0; image < 2; ++image)
    for (int64_t down = -kPad; down <= kPad; ++down)
      for (int64_t right = -kPad; right <= kPad; ++right)
        for (const bool flip : {false, true}) {
          // [3 + 2 pad, 4 + 2 pad, 2], black around the image.
          std::map<std::tuple<int64_t, int64_t, int64_t>, int> padded;
          for (int64_t y = 0; y < 3; ++y)
            for (int64_t x = 0; x < 4; ++x)
              for (int64_t c = 0; c < 2; ++c)
                padded[{y + kPad, x + kPad, c}] =
                    dataset.pixels[static_cast<size_t>(((image * 3 + y) * 4 + x) * 2 + c)];
          std::vector<float> out(24);
          augment_image(dataset, image, table().data(),
                        {.down = down,
                         .right = right,
                         .flip = flip,
                         .cut_bottom = 2,
                         .cut_left = 1,
                         .cut_right = 3},
                        out.data());
          for (int64_t y = 0; y < 3; ++y)
            for (int64_t x = 0; x < 4; ++x)
              for (int64_t c = 0; c < 2; ++c) {
                const bool cut = y < 2 && x >= 1 && x < 3;
                const int64_t column = flip ? 3 - x : x;
                const int byte = padded[{y + kPad + down, column + kPad + right, c}];
                ASSERT_EQ(out[static_cast<size_t>((y * 4 + x) * 2 + c)],
                          cut ? 0 : static_cast<float>(byte + 1000 * c) + 0.5f);
              }
        }
}

TEST(DataAugment, NothingIsDoneUnlessAskedFor) {
  for (uint64_t image = 0; image < 100; ++image) {
    const Augmentation none = draw_augmentation({}, 32, 32, 1, 2, image);
    EXPECT_TRUE(none.down == 0 && none.right == 0 && !none.flip && none.cut_bottom == 0);
  }
}

TEST(DataAugment, DrawsEvenly) {
  const AugmentAttrs attrs{.crop = 4, .flip = true, .cutout = 16};
  std::map<int64_t, int> downs, rights, rows, columns;
  int flips = 0;
  constexpr int kDraws = 32'000;
  for (int i = 0; i < kDraws; ++i) {
    const auto a = draw_augmentation(attrs, 32, 24, /*seed=*/3, /*epoch=*/i % 10, i / 10);
    ++downs[a.down], ++rights[a.right], flips += a.flip;
    ASSERT_TRUE(0 <= a.cut_top && a.cut_top < a.cut_bottom && a.cut_bottom <= 32);
    ASSERT_TRUE(0 <= a.cut_left && a.cut_left < a.cut_right && a.cut_right <= 24);
    // The middle, from the edge that was not moved inside.
    ++rows[a.cut_top > 0 ? a.cut_top + 8 : a.cut_bottom - 8];
    ++columns[a.cut_left > 0 ? a.cut_left + 8 : a.cut_right - 8];
  }
  const auto expect_even = [](const std::map<int64_t, int>& times, int64_t lowest, int64_t n) {
    ASSERT_EQ(std::ssize(times), n);
    EXPECT_EQ(times.begin()->first, lowest);
    const double mean = double{kDraws} / static_cast<double>(n);
    for (const auto& [value, count] : times) EXPECT_NEAR(count, mean, 5 * std::sqrt(mean)) << value;
  };
  expect_even(downs, -4, 9);
  expect_even(rights, -4, 9);
  expect_even(rows, 0, 32);
  expect_even(columns, 0, 24);
  EXPECT_NEAR(flips, kDraws / 2, 5 * std::sqrt(kDraws / 4));
}

TEST(DataAugment, AnImageIsCutTheSameWayWhereverItComes) {
  const ImageDataset dataset = numbered();
  const AugmentAttrs augment{.crop = 1, .flip = true, .cutout = 2};
  Loader one(dataset, {.batch = 1, .seed = 5, .augment = augment});
  Loader two(dataset, {.batch = 2, .seed = 5, .augment = augment, .workers = 0});
  for (uint64_t epoch = 0; epoch < 5; ++epoch) {
    one.start(epoch), two.start(epoch);
    std::vector<float> singles;
    while (const auto batch = one.next())
      for (const float value : batch->x.to_vector<float>()) singles.push_back(value);
    EXPECT_EQ(two.next()->x.to_vector<float>(), singles);
  }
}

TEST(DataAugment, IsWrittenAsAList) {
  const auto parse = [](const char* text) {
    const AugmentAttrs a = parse_augment(text);
    return std::tuple(a.crop, a.flip, a.cutout);
  };
  EXPECT_EQ(parse("none"), std::tuple(0, false, 0));
  EXPECT_EQ(parse("crop,flip,cutout"), std::tuple(4, true, 16));
  EXPECT_EQ(parse("cutout=8,crop=2"), std::tuple(2, false, 8));
  const std::string use = "Use none, or some of crop[=4],flip,cutout[=16].";
  const std::pair<const char*, const char*> bad[] = {
      {"", "there is no \"\""},
      {"flip,", "there is no \"\""},
      {"flip=1", "there is no \"flip=1\""},
      {"flop", "there is no \"flop\""},
      {"none,flip", "there is no \"none\""},
      {"flip,flip", "flip is there twice"},
      {"crop=3,crop=4", "crop is there twice"},
      {"crop=", "not a number of pixels from 1 to 1024 in \"crop=\""},
      {"crop=0", "not a number of pixels from 1 to 1024 in \"crop=0\""},
      {"cutout=1025", "not a number of pixels from 1 to 1024 in \"cutout=1025\""},
      {"cutout=8x", "not a number of pixels from 1 to 1024 in \"cutout=8x\""}};
  for (const auto& [text, why] : bad)
    EXPECT_EQ(error_of<UsageError>([&, text = text] { parse_augment(text); }),
              cat("augment: ", why, ": \"", text, "\". ", use));
}

}  // namespace
}  // namespace plimsoll::data
