// Images that the program draws itself, so that everything runs without a download: ten figures of
// 28 x 28 grey pixels.
//
//   ImageDataset train = draw_images(Split::train);                        // 10,000 images
//   ImageDataset other = draw_images(Split::train, {.count = 500, .seed = 7});
//
// Place, size, angle, slant, bend of the strokes, pen, brightness, contrast, dark on light or light
// on dark, stray marks and noise are drawn at random for each image. A linear model gets about half
// of them right, a small convolution net nearly all.
#pragma once

#include "data/dataset.h"

namespace plimsoll::data {

// Mean and standard deviation of all pixels / 255 of the default training set.
constexpr Normalization kBuiltinNormalization{{0.6511f}, {0.2536f, 1, 1}};

struct DrawAttrs {
  int64_t count = 0;  // 0: 10,000 for training, 2,000 for testing
  uint64_t seed = 0;
};

// Image i shows figure i mod 10. It depends on the seed, the split and i alone: more images or
// other threads change none. ValueError for a negative count or one above 100 million, OutOfMemory.
ImageDataset draw_images(Split split, DrawAttrs attrs = {});

}  // namespace plimsoll::data
