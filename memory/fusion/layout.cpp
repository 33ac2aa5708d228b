#include "memory/fusion/layout.h"

#include <numeric>

#include "core/cpu/parallel.h"

namespace plimsoll::fusion {

Layout layout_of(const Operand& operand, const Shape& shape) {
  using enum Layout::Kind;
  const Strides steps = broadcast_strides({nullptr, operand.meta, operand.strides}, shape);
  int axis = shape.rank() - 1;
  const auto skip_ones = [&] {
    while (axis >= 0 && shape[axis] == 1) --axis;
    return axis >= 0;
  };
  if (!skip_ones()) return {full};  // a single element
  // The inner axes, all repeated or all dense, then the outer ones, which are the other.
  const bool repeats = steps[axis] == 0;
  int64_t inner = 1, outer = 1;
  for (; skip_ones() && steps[axis] == (repeats ? 0 : inner); --axis) inner *= shape[axis];
  if (!skip_ones()) return {repeats ? scalar : full};
  for (; skip_ones() && steps[axis] == (repeats ? outer : 0); --axis) outer *= shape[axis];
  if (skip_ones()) return {other};
  return {repeats ? row : column, inner};
}

TileSize tile_size(int64_t rows, int64_t columns, bool whole_rows) {
  const int64_t wanted = grain_for(4), most = 4 * wanted;
  const int64_t unit = wanted < kUnit ? 1 : kUnit;  // tests cut more finely
  if (columns > wanted && !whole_rows && (rows == 1 || columns % unit == 0))
    return {1, wanted / unit * unit};
  const int64_t step = unit / std::gcd(unit, columns);  // rows that make up whole units
  const int64_t together = std::min(rows, std::max(step, wanted / columns / step * step));
  if (together > 1 && together * columns > most) return {};
  return {together, columns};
}

}  // namespace plimsoll::fusion
