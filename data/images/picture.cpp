#include "data/images/picture.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"

namespace plimsoll::data {
namespace {

// What one place of the result reads.
struct Taps {
  int64_t first;
  std::vector<double> weights;  // their sum is 1
};

std::vector<Taps> taps_of(int64_t from, int64_t to) {
  const double ratio = static_cast<double>(from) / static_cast<double>(to);
  const double reach = std::max(ratio, 1.0);
  std::vector<Taps> all;
  for (int64_t i = 0; i < to; ++i) {
    const double middle = (static_cast<double>(i) + 0.5) * ratio;
    Taps taps{.first = std::max<int64_t>(0, std::llround(std::floor(middle - reach + 0.5))),
              .weights = {}};
    const int64_t end = std::min(from, static_cast<int64_t>(std::floor(middle + reach + 0.5)));
    double sum = 0;
    for (int64_t j = taps.first; j < end; ++j) {
      const double distance = std::abs(static_cast<double>(j) + 0.5 - middle) / reach;
      sum += taps.weights.emplace_back(std::max(0.0, 1 - distance));
    }
    for (double& weight : taps.weights) weight /= sum;
    all.push_back(std::move(taps));
  }
  return all;
}

// [outer, from, inner] -> [outer, taps, inner]
std::vector<double> along(const std::vector<double>& values, int64_t outer, int64_t from,
                          int64_t inner, const std::vector<Taps>& taps) {
  std::vector<double> result;
  result.reserve(static_cast<size_t>(outer * std::ssize(taps) * inner));
  for (int64_t o = 0; o < outer; ++o)
    for (const Taps& tap : taps)
      for (int64_t i = 0; i < inner; ++i) {
        const double* read = &values[static_cast<size_t>((o * from + tap.first) * inner + i)];
        double sum = 0;
        for (size_t j = 0; j < tap.weights.size(); ++j)
          sum += tap.weights[j] * read[static_cast<int64_t>(j) * inner];
        result.push_back(sum);
      }
  return result;
}

bool is_grey(const Picture& picture) {
  for (size_t i = 0; i < picture.pixels.size(); i += 3)
    if (picture.pixels[i] != picture.pixels[i + 1] || picture.pixels[i] != picture.pixels[i + 2])
      return false;
  return true;
}

Picture grey_of(const Picture& picture) {
  Picture grey{picture.height, picture.width, 1, {}};
  for (size_t i = 0; i < picture.pixels.size(); i += 3) {
    const uint8_t* p = &picture.pixels[i];
    grey.pixels.push_back(
        static_cast<uint8_t>((19595 * p[0] + 38470 * p[1] + 7471 * p[2] + 0x8000) >> 16));
  }
  return grey;
}

Picture colour_of(const Picture& picture) {
  Picture colour{picture.height, picture.width, 3, {}};
  for (const uint8_t pixel : picture.pixels) colour.pixels.insert(colour.pixels.end(), 3, pixel);
  return colour;
}

}  // namespace

Picture resized(const Picture& picture, int64_t height, int64_t width) {
  const auto& [rows, columns, channels, pixels] = picture;
  check<ValueError>(height > 0 && width > 0, "resized: a picture needs pixels: ", height, " x ",
                    width, ". Give sizes of 1 or more.");
  if (height == rows && width == columns) return picture;
  std::vector<double> values(pixels.begin(), pixels.end());
  values = along(values, rows, columns, channels, taps_of(columns, width));
  values = along(values, 1, rows, width * channels, taps_of(rows, height));
  Picture result{height, width, channels, {}};
  for (const double value : values)
    result.pixels.push_back(static_cast<uint8_t>(std::clamp(std::floor(value + 0.5), 0.0, 255.0)));
  return result;
}

Picture fitted(Picture picture, const std::string& name, PictureSize wanted, FitAttrs attrs) {
  if (picture.channels == 1 && wanted.channels == 3) picture = colour_of(picture);
  if (picture.channels == 3 && wanted.channels == 1) {
    check<DataError>(attrs.grey || is_grey(picture),
                     "picture: it has colours, and grey is wanted: ", name,
                     ". Make it grey, or allow --grey.");
    picture = grey_of(picture);  // of equal parts: that part, as the weights add up to 2^16
  }
  const bool same = picture.height == wanted.height && picture.width == wanted.width;
  check<DataError>(same || attrs.resize, "picture: it is of another size: ", name, " has ",
                   picture.height, " x ", picture.width, " pixels, wanted are ", wanted.height,
                   " x ", wanted.width, ". Cut it to that size, or allow --resize.");
  return same ? picture : resized(picture, wanted.height, wanted.width);
}

}  // namespace plimsoll::data
