#include "data/images/augment.h"

#include <algorithm>
#include <charconv>

#include "data/random.h"

namespace plimsoll::data {
namespace {

constexpr int64_t kMostPixels = 1024;  // far above every image read here

// So that a loader's orders, drawn from the same seed, are independent.
constexpr uint64_t kAugmentKey = 0x6175676d656e74;

[[noreturn]] void refuse(const std::string& text, const std::string& why) {
  fail<UsageError>("augment: ", why, ": \"", text, "\". Use ", kAugmentations, ".");
}

// The number after '='; `usual` when there is none.
int64_t size_in(const std::string& text, std::string_view part, size_t name, int64_t usual) {
  if (part.size() == name) return usual;
  const char* const end = part.data() + part.size();
  int64_t size = 0;
  const auto [stop, error] = std::from_chars(part.data() + name + 1, end, size);
  if (error != std::errc{} || stop != end || size < 1 || size > kMostPixels)
    refuse(text, cat("not a number of pixels from 1 to ", kMostPixels, " in \"", part, "\""));
  return size;
}

}  // namespace

AugmentAttrs parse_augment(const std::string& text) {
  AugmentAttrs attrs;
  if (text == "none") return attrs;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view part = std::string_view(text).substr(begin, end - begin);
    const size_t name = std::min(part.find('='), part.size());
    const std::string_view what = part.substr(0, name);
    const bool twice = (what == "crop" && attrs.crop > 0) || (what == "flip" && attrs.flip) ||
                       (what == "cutout" && attrs.cutout > 0);
    if (twice) refuse(text, cat(what, " is there twice"));
    if (what == "crop")
      attrs.crop = size_in(text, part, name, 4);
    else if (part == "flip")
      attrs.flip = true;
    else if (what == "cutout")
      attrs.cutout = size_in(text, part, name, 16);
    else
      refuse(text, cat("there is no \"", part, "\""));
    begin = end + 1;
  }
  return attrs;
}

void check_augment(const AugmentAttrs& attrs) {
  for (const int64_t pixels : {attrs.crop, attrs.cutout})
    check<ValueError>(pixels >= 0 && pixels <= kMostPixels,
                      "augment: this is no number of pixels: ", pixels, ". Pass 0 to ", kMostPixels,
                      ".");
}

Augmentation draw_augmentation(const AugmentAttrs& attrs, int64_t height, int64_t width,
                               uint64_t seed, uint64_t epoch, uint64_t image) {
  const auto first = random_words(seed ^ kAugmentKey, image, 2 * epoch);
  const auto second = random_words(seed ^ kAugmentKey, image, 2 * epoch + 1);
  const auto drawn = [](uint32_t word, int64_t n) { return below(uint64_t{word} << 32, n); };
  Augmentation result;
  result.down = drawn(first[0], 2 * attrs.crop + 1) - attrs.crop;
  result.right = drawn(first[1], 2 * attrs.crop + 1) - attrs.crop;
  result.flip = attrs.flip && drawn(first[2], 2) == 1;
  if (attrs.cutout > 0) {
    const int64_t top = drawn(second[0], height) - attrs.cutout / 2;
    const int64_t left = drawn(second[1], width) - attrs.cutout / 2;
    result.cut_top = std::max<int64_t>(top, 0);
    result.cut_bottom = std::min(top + attrs.cutout, height);
    result.cut_left = std::max<int64_t>(left, 0);
    result.cut_right = std::min(left + attrs.cutout, width);
  }
  return result;
}

void augment_image(const ImageDataset& dataset, int64_t index, const float* table,
                   const Augmentation& augmentation, float* out) {
  const int64_t height = dataset.height, width = dataset.width, channels = dataset.channels;
  const uint8_t* image = dataset.pixels.data() + index * dataset.image_bytes();
  for (int64_t y = 0; y < height; ++y) {
    const int64_t from_y = y + augmentation.down;
    float* row = out + y * width * channels;
    for (int64_t x = 0; x < width; ++x) {
      const int64_t from_x = (augmentation.flip ? width - 1 - x : x) + augmentation.right;
      const bool inside = from_y >= 0 && from_y < height && from_x >= 0 && from_x < width;
      const uint8_t* pixel = image + (from_y * width + from_x) * channels;
      for (int64_t channel = 0; channel < channels; ++channel)
        row[x * channels + channel] = table[256 * channel + (inside ? pixel[channel] : 0)];
    }
    if (y >= augmentation.cut_top && y < augmentation.cut_bottom)
      std::fill(row + augmentation.cut_left * channels, row + augmentation.cut_right * channels,
                0.0F);
  }
}

}  // namespace plimsoll::data
