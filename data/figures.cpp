#include "data/figures.h"

#include <algorithm>
#include <cmath>

namespace plimsoll::data {
namespace {

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

}  // namespace

const std::array<Figure, kFigures> kFigureTable = {{{"ring", kRing},
                                                    {"open ring", kOpenRing},
                                                    {"cross", kCross},
                                                    {"triangle", kTriangle},
                                                    {"square", kSquare},
                                                    {"tee", kTee},
                                                    {"zigzag", kZigzag},
                                                    {"wave", kWave},
                                                    {"arrow", kArrow},
                                                    {"bars", kBars}}};

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

}  // namespace plimsoll::data
