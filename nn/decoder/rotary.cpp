#include "nn/decoder/rotary.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace plimsoll::nn {
namespace {

constexpr float kTurn = 2 * std::numbers::pi_v<float>;

// Long waves are divided by the factor, short ones stay, and those between are mixed.
void stretch_llama3(std::vector<float>& frequencies, const RotaryOptions& o) {
  const auto context = static_cast<float>(o.original_context);
  const auto low = static_cast<float>(o.low), high = static_cast<float>(o.high);
  const auto factor = static_cast<float>(o.factor);
  for (float& f : frequencies) {
    const float wave = kTurn / f;
    const float smooth = (context / wave - low) / (high - low);
    if (wave > context / low)
      f /= factor;
    else if (wave >= context / high)
      f = (1 - smooth) * f / factor + smooth * f;
  }
}

// The pair of features that makes so many turns in the original context.
double pair_of_turns(double turns, int64_t width, const RotaryOptions& o) {
  const double share = static_cast<double>(o.original_context) / (turns * 2 * std::numbers::pi);
  return static_cast<double>(width) * std::log(share) / (2 * std::log(o.base));
}

void stretch_yarn(std::vector<float>& frequencies, int64_t width, const RotaryOptions& o) {
  double first = pair_of_turns(o.fast, width, o), last = pair_of_turns(o.slow, width, o);
  if (o.whole) {
    first = std::floor(first);
    last = std::ceil(last);
  }
  first = std::max(first, 0.0);
  last = std::min(last, static_cast<double>(width - 1));
  if (first == last) last += 0.001;
  for (size_t i = 0; i < frequencies.size(); ++i) {
    const auto place =
        (static_cast<float>(i) - static_cast<float>(first)) / static_cast<float>(last - first);
    const float kept = 1 - std::clamp(place, 0.0F, 1.0F);
    const float period = 1 / frequencies[i];
    frequencies[i] =
        1 / (static_cast<float>(o.factor) * period) * (1 - kept) + frequencies[i] * kept;
  }
}

}  // namespace

std::vector<float> rotary_frequencies(int64_t width, const RotaryOptions& options) {
  check<ValueError>(width >= 2 && width % 2 == 0 && options.base > 1 && options.factor >= 1,
                    "rotary: no such angles: width ", width, ", base ", options.base, ", factor ",
                    options.factor,
                    ". Use an even width, a base above 1 and a factor of 1 or more.");
  std::vector<float> frequencies;
  for (int64_t i = 0; i < width; i += 2) {
    const float share = static_cast<float>(i) / static_cast<float>(width);
    frequencies.push_back(1 /
                          static_cast<float>(std::pow(options.base, static_cast<double>(share))));
  }
  if (options.scaling == RotaryScaling::linear)
    for (float& f : frequencies) f /= static_cast<float>(options.factor);
  if (options.scaling == RotaryScaling::llama3) stretch_llama3(frequencies, options);
  if (options.scaling == RotaryScaling::yarn) stretch_yarn(frequencies, width, options);
  return frequencies;
}

RopeTables rotary_tables(int64_t positions, int64_t width, const RotaryOptions& options,
                         Device device) {
  const std::vector<float> frequencies = rotary_frequencies(width, options);
  const auto magnitude = static_cast<float>(options.magnitude);
  std::vector<float> cos, sin;
  for (int64_t t = 0; t < positions; ++t)
    for (const float f : frequencies) {
      const auto angle = static_cast<double>(static_cast<float>(t) * f);
      cos.push_back(static_cast<float>(std::cos(angle)) * magnitude);
      sin.push_back(static_cast<float>(std::sin(angle)) * magnitude);
    }
  const Shape shape{positions, width / 2};
  return {Tensor::of(std::span<const float>(cos), shape, device),
          Tensor::of(std::span<const float>(sin), shape, device)};
}

}  // namespace plimsoll::nn
