// pad as slices of x, reversed or repeated, joined to it axis by axis.
#include "ops/common/expect.h"
#include "ops/random/full/full.h"
#include "ops/shape/concat/concat.h"
#include "ops/shape/rearrange/rearrange.h"
#include "ops/shape/view/view.h"

namespace plimsoll {
namespace {

// n elements to stand before (or after) y along `axis`.
Tensor border(const Tensor& y, int axis, int64_t n, bool before, PadMode mode, double value) {
  const int64_t size = y.shape()[axis];
  Shape shape = y.shape();
  shape[axis] = n;
  switch (mode) {
    case PadMode::constant:
      return expand(full({}, value, {y.dtype(), y.device()}), shape);
    case PadMode::reflect:
      return flip(before ? slice(y, axis, 1, n + 1) : slice(y, axis, size - 1 - n, size - 1),
                  {axis});
    case PadMode::edge:
      return expand(before ? slice(y, axis, 0, 1) : slice(y, axis, size - 1, size), shape);
    case PadMode::wrap:
      break;
  }
  return before ? slice(y, axis, size - n, size) : slice(y, axis, 0, n);
}

// The largest amount that a mode can take from an axis.
int64_t limit(PadMode mode, int64_t size) {
  constexpr int64_t kAny = int64_t{1} << 62;
  switch (mode) {
    case PadMode::constant:
      return kAny;
    case PadMode::reflect:
      return std::max<int64_t>(0, size - 1);
    case PadMode::edge:
      return size > 0 ? kAny : 0;
    case PadMode::wrap:
      break;
  }
  return size;
}

}  // namespace

Tensor pad(const Tensor& x, const PadAmounts& amounts, PadMode mode, double value) {
  check_defined("pad", x);
  check<ShapeError>(static_cast<int>(amounts.size()) == x.rank(), "pad: the tensor has ", x.rank(),
                    " axes, but amounts are given for ", amounts.size(),
                    ". Give one pair for each axis.");
  Tensor y = x;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const auto [before, after] = amounts[static_cast<size_t>(axis)];
    const int64_t size = x.shape()[axis], most = limit(mode, size);
    check<ShapeError>(before >= 0 && after >= 0, "pad: an amount is negative: ", before, " and ",
                      after, " for axis ", axis, ". Use slice to cut.");
    check<ShapeError>(before <= most && after <= most,
                      "pad: the axis is too short for this mode: ", before, " and ", after,
                      " for axis ", axis, " of ", x.shape(), ". At most ", most, " fit.");
    std::vector<Tensor> parts;
    if (before > 0) parts.push_back(border(y, axis, before, true, mode, value));
    parts.push_back(y);
    if (after > 0) parts.push_back(border(y, axis, after, false, mode, value));
    if (parts.size() > 1) y = concat(parts, axis);
  }
  return y;
}

}  // namespace plimsoll
