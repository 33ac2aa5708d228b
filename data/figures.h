// The ten figures of the built-in images, and the pen that draws them.
//
//   Canvas canvas{};
//   draw_stroke(canvas, {{3, 3}, {14, 3}, {24, 24}}, /*radius=*/1.5f);     // in pixels
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace plimsoll::data {

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

constexpr int64_t kFigures = 10;
extern const std::array<Figure, kFigures> kFigureTable;

constexpr int64_t kCanvasSize = 28;
using Canvas = std::array<float, kCanvasSize * kCanvasSize>;  // [y, x], how much ink: 0 ... 1

// Puts down ink where a round pen of that radius, pulled along the stroke, covers a pixel; edges
// are one pixel soft. Ink already there stays: the darker of both.
void draw_stroke(Canvas& canvas, const Stroke& stroke, float radius);

}  // namespace plimsoll::data
