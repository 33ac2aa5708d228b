#include "data/images/builtin_images.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <new>
#include <span>

#include "core/cpu/parallel.h"
#include "data/random.h"

namespace plimsoll::data {
namespace {

struct Point {
  float x = 0, y = 0;
};

// The curve (1 - t)^2 from + 2 t (1 - t) via + t^2 to: straight when `via` lies half way.
struct Stroke {
  Point from, via, to;
};

struct Figure {
  const char* name;
  std::span<const Stroke> strokes;  // inside the circle of radius 1, y downwards
};

constexpr int64_t kCanvasSize = 28;
using Canvas = std::array<float, kCanvasSize * kCanvasSize>;  // [y, x], how much ink: 0 ... 1

constexpr Stroke line(Point a, Point b) { return {a, {(a.x + b.x) / 2, (a.y + b.y) / 2}, b}; }

constexpr Point kNW{-0.75f, -0.75f}, kNE{0.75f, -0.75f}, kSE{0.75f, 0.75f}, kSW{-0.75f, 0.75f};
constexpr Point kN{0, -1}, kE{1, 0}, kS{0, 1}, kW{-1, 0};
constexpr Point kTip{0.95f, 0}, kTopLeft{-0.5f, -0.85f}, kTopRight{0.5f, -0.85f},
    kBottomLeft{-0.5f, 0.85f}, kBottomRight{0.5f, 0.85f};

// A quarter of a circle bulges to the corner of its square.
constexpr Stroke kArcNE{kN, {1, -1}, kE}, kArcSE{kE, {1, 1}, kS}, kArcSW{kS, {-1, 1}, kW},
    kArcNW{kW, {-1, -1}, kN};

constexpr Stroke kRing[] = {kArcNE, kArcSE, kArcSW, kArcNW};
constexpr Stroke kOpenRing[] = {kArcSE, kArcSW, kArcNW};
constexpr Stroke kCross[] = {line(kN, kS), line(kE, kW)};
constexpr Stroke kTriangle[] = {line(kN, kSE), line(kSE, kSW), line(kSW, kN)};
constexpr Stroke kSquare[] = {line(kNW, kNE), line(kNE, kSE), line(kSE, kSW), line(kSW, kNW)};
constexpr Stroke kTee[] = {line(kNW, kNE), line({0, -0.75f}, {0, 0.95f})};
constexpr Stroke kZigzag[] = {line(kNW, kNE), line(kNE, kSW), line(kSW, kSE)};
constexpr Stroke kWave[] = {{{0.7f, -0.7f}, {-1.3f, -1.2f}, {0, 0}},
                            {{0, 0}, {1.3f, 1.2f}, {-0.7f, 0.7f}}};
constexpr Stroke kArrow[] = {line(kW, kTip), line({0.2f, -0.7f}, kTip), line({0.2f, 0.7f}, kTip)};
constexpr Stroke kBars[] = {line(kTopLeft, kBottomLeft), line(kTopRight, kBottomRight)};

constexpr int64_t kFigures = 10;
constexpr std::array<Figure, kFigures> kFigureTable = {{{"ring", kRing},
                                                        {"open ring", kOpenRing},
                                                        {"cross", kCross},
                                                        {"triangle", kTriangle},
                                                        {"square", kSquare},
                                                        {"tee", kTee},
                                                        {"zigzag", kZigzag},
                                                        {"wave", kWave},
                                                        {"arrow", kArrow},
                                                        {"bars", kBars}}};

float distance(Point p, Point a, Point b) {
  const float dx = b.x - a.x, dy = b.y - a.y;
  const float length2 = dx * dx + dy * dy;
  const float along = length2 > 0 ? ((p.x - a.x) * dx + (p.y - a.y) * dy) / length2 : 0;
  const float t = std::clamp(along, 0.0f, 1.0f);
  return std::hypot(p.x - a.x - t * dx, p.y - a.y - t * dy);
}

void draw_line(Canvas& canvas, Point a, Point b, float radius) {
  // Only the pixels that the pen can reach.
  const float reach = radius + 1;
  const auto first = [&](float u, float v) {
    return std::clamp<int64_t>(static_cast<int64_t>(std::min(u, v) - reach), 0, kCanvasSize);
  };
  const auto last = [&](float u, float v) {
    return std::clamp<int64_t>(static_cast<int64_t>(std::max(u, v) + reach) + 1, 0, kCanvasSize);
  };
  for (int64_t y = first(a.y, b.y); y < last(a.y, b.y); ++y)
    for (int64_t x = first(a.x, b.x); x < last(a.x, b.x); ++x) {
      const Point pixel{static_cast<float>(x), static_cast<float>(y)};
      const float ink = std::clamp(radius + 0.5f - distance(pixel, a, b), 0.0f, 1.0f);
      float& here = canvas[static_cast<size_t>(y * kCanvasSize + x)];
      here = std::max(here, ink);
    }
}

// Puts down ink where a round pen of that radius, pulled along the stroke, covers a pixel; edges
// are one pixel soft. Ink already there stays: the darker of both.
void draw_stroke(Canvas& canvas, const Stroke& stroke, float radius) {
  constexpr int kPieces = 8;  // straight pieces of under 3 pixels look round at this size
  Point previous = stroke.from;
  for (int i = 1; i <= kPieces; ++i) {
    const float t = static_cast<float>(i) / kPieces;
    const float a = (1 - t) * (1 - t), b = 2 * t * (1 - t), c = t * t;
    const Point next{a * stroke.from.x + b * stroke.via.x + c * stroke.to.x,
                     a * stroke.from.y + b * stroke.via.y + c * stroke.to.y};
    draw_line(canvas, previous, next, radius);
    previous = next;
  }
}

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
  for (const Figure& figure : kFigureTable) dataset.class_names.emplace_back(figure.name);
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
