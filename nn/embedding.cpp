#include "nn/embedding.h"

#include "nn/expect.h"
#include "nn/init.h"
#include "nn/key_value_cache.h"
#include "ops/indexing/embedding/embedding.h"
#include "ops/pointwise/arithmetic/arithmetic.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/shape/view/view.h"

namespace plimsoll::nn {
namespace {

constexpr double kPositionStd = 0.02;
constexpr double kLongestWave = 10000;  // the wavelengths run from 2 pi to 2 pi times this

Tensor add_positions(const Tensor& x, const Tensor& table, const Mode& mode) {
  check_sequence("positions", x, table.size(1));
  if (mode.cache) {
    const int64_t context = mode.cache->options().context;
    check<ShapeError>(context <= table.size(0), "positions: the cache has room for ", context,
                      ", and there are ", table.size(0),
                      ". Use a smaller context, or build the module with a larger length.");
    return x + cast(embedding(table, mode.positions), x.dtype());
  }
  if (mode.segments.defined()) return x + cast(embedding(table, mode.positions), x.dtype());
  check<ShapeError>(x.size(1) <= table.size(0), "positions: the sequence is longer than ",
                    table.size(0), ": got ", x.shape(), ". Build the module with a larger length.");
  return x + cast(slice(table, 0, 0, x.size(1)), x.dtype());
}

}  // namespace

Embedding::Embedding(int64_t vocabulary, int64_t width, Initializer& init) {
  check_positive("embedding", "vocabulary and width", {vocabulary, width});
  weight_ = add_parameter("weight", init::normal({vocabulary, width}, 1, init));
}

Tensor Embedding::forward(const Tensor& ids, const Mode&) const { return embedding(weight_, ids); }

LearnedPositions::LearnedPositions(int64_t length, int64_t width, Initializer& init) {
  check_positive("positions", "length and width", {length, width});
  table_ = add_parameter("table", init::normal({length, width}, kPositionStd, init));
}

Tensor LearnedPositions::forward(const Tensor& x, const Mode& mode) const {
  return add_positions(x, table_, mode);
}

SinusoidalPositions::SinusoidalPositions(int64_t length, int64_t width, const Initializer& init)
    : table_(add_buffer("table", sinusoidal_positions(length, width, init.placement))) {}

Tensor SinusoidalPositions::forward(const Tensor& x, const Mode& mode) const {
  return add_positions(x, table_, mode);
}

Tensor sinusoidal_positions(int64_t length, int64_t width, Placement placement) {
  check_positive("positions", "length and width", {length, width});
  std::vector<double> table;
  table.reserve(static_cast<size_t>(checked_mul(length, width, "positions")));
  for (int64_t t = 0; t < length; ++t) {
    for (int64_t d = 0; d < width; ++d) {
      const auto even = static_cast<double>(d - d % 2), pairs = static_cast<double>(width);
      const double angle = static_cast<double>(t) / std::pow(kLongestWave, even / pairs);
      table.push_back(d % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
  }
  const std::span<const double> values(table);
  return cast(Tensor::of(values, {length, width}, placement.device), placement.dtype);
}

}  // namespace plimsoll::nn
