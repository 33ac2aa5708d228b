#include "data/builtin_images.h"

#include <algorithm>
#include <cmath>
#include <new>

#include "core/cpu/parallel.h"
#include "data/figures.h"
#include "data/random.h"

namespace plimsoll::data {
namespace {

constexpr float kCenter = (kCanvasSize - 1) / 2.0f;

// Turns, slants, stretches and moves a figure from its unit circle onto the canvas.
struct Pose {
  float xx, xy, yx, yy, x, y;

  explicit Pose(Random& random) {
    const float angle = random.uniform(-0.6f, 0.6f);  // radians: 34 degrees either way
    const float slant = random.uniform(-0.25f, 0.25f);
    const float width = random.uniform(6.5f, 10.0f);  // pixels
    const float height = width * random.uniform(0.8f, 1.25f);
    const float cosine = std::cos(angle), sine = std::sin(angle);
    xx = width * cosine;
    xy = width * slant * cosine - height * sine;
    yx = width * sine;
    yy = width * slant * sine + height * cosine;
    x = kCenter + random.uniform(-3, 3);
    y = kCenter + random.uniform(-3, 3);
  }

  Point operator()(Point p) const { return {xx * p.x + xy * p.y + x, yx * p.x + yy * p.y + y}; }
};

void draw_figure(Canvas& canvas, const Figure& figure, Random& random) {
  const Pose pose(random);
  const float radius = random.uniform(0.7f, 1.7f);  // of the pen, in pixels
  for (Stroke stroke : figure.strokes) {
    stroke.via.x += random.uniform(-0.15f, 0.15f);  // ends stay where they meet
    stroke.via.y += random.uniform(-0.15f, 0.15f);
    draw_stroke(canvas, {pose(stroke.from), pose(stroke.via), pose(stroke.to)}, radius);
  }
}

// Up to three short marks that mean nothing.
void draw_marks(Canvas& canvas, Random& random) {
  for (int64_t mark = random.index(4); mark > 0; --mark) {
    const Point a{random.uniform(1, 26), random.uniform(1, 26)};
    const Point b{a.x + random.uniform(-2.5f, 2.5f), a.y + random.uniform(-2.5f, 2.5f)};
    draw_stroke(canvas, {a, a, b}, random.uniform(0.4f, 0.8f));
  }
}

void draw_image(uint8_t* pixels, const Figure& figure, Random random) {
  Canvas canvas{};
  draw_figure(canvas, figure, random);
  draw_marks(canvas, random);
  const float contrast = random.uniform(90, 190);  // grey levels between paper and ink
  const float dark = random.uniform(10, 245 - contrast);
  const bool light_ink = random.index(8) == 0;
  const float paper = light_ink ? dark : dark + contrast;
  const float ink = light_ink ? contrast : -contrast;
  const float noise = random.uniform(2, 20);  // standard deviation in grey levels
  const float slope_x = random.uniform(-1, 1), slope_y = random.uniform(-1, 1);  // uneven light
  for (int64_t i = 0; i < std::ssize(canvas); ++i) {
    const int64_t row = i / kCanvasSize, column = i % kCanvasSize;
    const float x = static_cast<float>(column) - kCenter, y = static_cast<float>(row) - kCenter;
    // Four random bytes added up are nearly normal: mean 510, standard deviation 147.8.
    const uint32_t word = random.word();
    const auto sum =
        static_cast<float>((word & 255) + (word >> 8 & 255) + (word >> 16 & 255) + (word >> 24));
    const float grey = paper + ink * canvas[static_cast<size_t>(i)] + slope_x * x + slope_y * y +
                       noise * (sum - 510) / 147.8f;
    pixels[i] = static_cast<uint8_t>(std::clamp(grey, 0.0f, 255.0f));
  }
}

}  // namespace

ImageDataset draw_images(Split split, DrawAttrs attrs) {
  check<ValueError>(attrs.count >= 0,
                    "draw_images: the number of images is negative: ", attrs.count,
                    ". Pass 0 for the default.");
  const int64_t count = attrs.count > 0 ? attrs.count : split == Split::train ? 10'000 : 2'000;
  ImageDataset dataset{.name = cat("builtin ", name_of(split)),
                       .height = kCanvasSize,
                       .width = kCanvasSize,
                       .channels = 1,
                       .classes = kFigures,
                       .normalization = kBuiltinNormalization,
                       .pixels = {},
                       .labels = {}};
  constexpr int64_t kMost = 100'000'000;  // 78 GB
  check<ValueError>(count <= kMost, "draw_images: there are too many images: ", count,
                    " of at most ", kMost, ". Draw fewer.");
  try {
    dataset.pixels.resize(static_cast<size_t>(count * dataset.image_bytes()));
    dataset.labels.resize(static_cast<size_t>(count));
  } catch (const std::bad_alloc&) {
    fail<OutOfMemory>("draw_images: out of memory for ", count, " images of ",
                      dataset.image_bytes(), " bytes. Draw fewer.");
  }
  const uint64_t streams = uint64_t{split == Split::test} << 63;  // no image is in both splits
  parallel_for(count, 32, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t label = i % kFigures;
      dataset.labels[static_cast<size_t>(i)] = label;
      draw_image(dataset.pixels.data() + i * dataset.image_bytes(),
                 kFigureTable[static_cast<size_t>(label)],
                 Random(attrs.seed, streams | static_cast<uint64_t>(i)));
    }
  });
  return dataset;
}

}  // namespace plimsoll::data
