// Image augmentation: another cut of a training image in every epoch.
//
//   Loader loader(train, {.batch = 128, .shuffle = true, .augment = {.crop = 4, .flip = true}});
//   AugmentAttrs attrs = parse_augment("crop,flip,cutout=8");
//
// What is done to an image is a pure function of (seed, epoch, number of the image): the same for
// every batch size, order and number of workers, and never stored.
#pragma once

#include <string>

#include "data/dataset.h"

namespace plimsoll::data {

// In this order:
struct AugmentAttrs {
  // The image is surrounded by so many black pixels, and a window of its size cut out anywhere.
  int64_t crop = 0;
  // Left and right change places for half of the images.
  bool flip = false;
  // A square of so many pixels a side becomes the mean colour, 0 after normalisation. Its middle
  // is anywhere in the image, so that part of it may lie outside (DeVries and Taylor, "Improved
  // Regularization of Convolutional Neural Networks with Cutout", 2017).
  int64_t cutout = 0;

  bool any() const { return crop > 0 || flip || cutout > 0; }
};

// What --augment accepts, for --help.
constexpr const char* kAugmentations = "none, or some of crop[=4],flip,cutout[=16]";

// "crop,flip,cutout", each at most once, sizes in pixels. UsageError for anything else.
AugmentAttrs parse_augment(const std::string& text);

// ValueError for a negative size or one above 1024 pixels.
void check_augment(const AugmentAttrs& attrs);

// What happens to one image.
struct Augmentation {
  int64_t down = 0, right = 0;  // the window's place relative to the image, -crop ... crop
  bool flip = false;
  int64_t cut_top = 0, cut_bottom = 0;  // rows [top, bottom) and columns [left, right) of the
  int64_t cut_left = 0, cut_right = 0;  // square, inside the image
};

Augmentation draw_augmentation(const AugmentAttrs& attrs, int64_t height, int64_t width,
                               uint64_t seed, uint64_t epoch, uint64_t image);

// Writes image `index` of the dataset [H, W, C], augmented. `table` [C, 256] says what each byte of
// each channel becomes; what is cut out becomes 0.
void augment_image(const ImageDataset& dataset, int64_t index, const float* table,
                   const Augmentation& augmentation, float* out);

}  // namespace plimsoll::data
