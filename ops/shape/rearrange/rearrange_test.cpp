#include "ops/shape/rearrange/rearrange.h"

#include "ops/random/full/full.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

using Place = std::vector<int64_t>;  // one index per axis

// y[place] = x[from(place)], or `otherwise` where from() gives no place.
template <class From>
Array moved(const Array& x, Shape shape, From from, double otherwise = 0) {
  Array y(shape);
  for (int64_t i = 0; i < count(shape); ++i) {
    Place place(static_cast<size_t>(shape.rank()));
    int64_t rest = i;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      place[static_cast<size_t>(axis)] = rest % shape[axis];
      rest /= shape[axis];
    }
    const Place source = from(place);
    int64_t at = 0;
    for (size_t axis = 0; axis < source.size(); ++axis)
      at = at * x.size(static_cast<int>(axis)) + source[axis];
    y[i] = x.shape.rank() > 0 && source.empty() ? otherwise : x[at];
  }
  return y;
}

template <class Call, class From>
OpCase moves(const char* name, Shape shape, Shape out, Call call, From from, double otherwise = 0) {
  return {.name = name,
          .inputs = {real(shape)},
          .call = [=](auto in) { return std::vector{call(in[0])}; },
          .reference =
              [=](const std::vector<Array>& in) {
                return std::vector{moved(in[0], out, from, otherwise)};
              }};
}

// The element of 0 ... size - 1 that stands at i of a padded axis; -1: none.
int64_t unpadded(PadMode mode, int64_t i, int64_t size) {
  if (i >= 0 && i < size) return i;
  if (mode == PadMode::reflect) return i < 0 ? -i : 2 * (size - 1) - i;
  if (mode == PadMode::edge) return i < 0 ? 0 : size - 1;
  return mode == PadMode::wrap ? (i + size) % size : -1;
}

OpCase pads(const char* name, Shape shape, PadAmounts amounts, PadMode mode, double value = 0) {
  Shape out = shape;
  for (int axis = 0; axis < shape.rank(); ++axis)
    out[axis] +=
        amounts[static_cast<size_t>(axis)].first + amounts[static_cast<size_t>(axis)].second;
  return moves(
      name, shape, out, [=](const Tensor& x) { return pad(x, amounts, mode, value); },
      [=](Place p) {
        for (size_t axis = 0; axis < p.size(); ++axis) {
          p[axis] = unpadded(mode, p[axis] - amounts[axis].first, shape[static_cast<int>(axis)]);
          if (p[axis] < 0) return Place{};
        }
        return p;
      },
      value);
}

template <class Keeps>
OpCase triangle(const char* name, Shape shape, int64_t diagonal, bool lower, Keeps keeps) {
  return moves(
      name, shape, shape,
      [=](const Tensor& x) { return lower ? tril(x, diagonal) : triu(x, diagonal); },
      [=](Place p) { return keeps(p[p.size() - 1] - p[p.size() - 2]) ? p : Place{}; });
}

std::vector<OpCase> tile_and_stack() {
  const auto wrapped = [](Shape sizes) {
    return [=](Place p) {
      Place q(p.end() - sizes.rank(), p.end());
      for (size_t a = 0; a < q.size(); ++a) q[a] %= sizes[static_cast<int>(a)];
      return q;
    };
  };
  const auto tiled = [](Shape repeats) {
    return [=](const Tensor& x) { return tile(x, repeats); };
  };
  OpCase stacked = moves(
      "stack", {2, 3}, {2, 3}, [](auto x) { return x; }, [](Place p) { return p; });
  stacked.inputs = {real({2, 3}), real({2, 3})};
  stacked.call = [](auto in) { return std::vector{stack(in, 0), stack(in, 1), stack(in, -1)}; };
  stacked.reference = [](const std::vector<Array>& in) {
    Array a({2, 2, 3}), b({2, 2, 3}), c({2, 3, 2});
    for (int64_t k = 0; k < 2; ++k)
      for (int64_t i = 0; i < 2; ++i)
        for (int64_t j = 0; j < 3; ++j) {
          const double v = in[static_cast<size_t>(k)][i * 3 + j];
          a[(k * 2 + i) * 3 + j] = b[(i * 2 + k) * 3 + j] = c[(i * 3 + j) * 2 + k] = v;
        }
    return std::vector{a, b, c};
  };
  return {moves("tile", {2, 3}, {4, 9}, tiled({2, 3}), wrapped({2, 3})),
          moves("tile_last", {2, 3}, {2, 6}, tiled({2}), wrapped({2, 3})),
          moves("tile_new_axis", {3}, {2, 6}, tiled({2, 2}), wrapped({3})),
          moves("tile_none", {3}, {0}, tiled({0}), wrapped({3})),
          moves("tile_scalar", {}, {3}, tiled({3}), wrapped({})),
          stacked};
}

}  // namespace

OpCases rearrange_cases() {
  const auto flipped = [](Shape axes) { return [=](const Tensor& x) { return flip(x, axes); }; };
  const auto rolled = [](Shape by, Shape axes) {
    return [=](const Tensor& x) { return roll(x, by, axes); };
  };
  const auto same = [](Place p) { return p; };
  using enum PadMode;
  OpCases cases{
      .good = {moves("flip_last", {2, 5}, {2, 5}, flipped({-1}),
                     [](Place p) {
                       return Place{p[0], 4 - p[1]};
                     }),
               moves("flip_apart", {2, 3, 4}, {2, 3, 4}, flipped({2, 0}),
                     [](Place p) {
                       return Place{1 - p[0], p[1], 3 - p[2]};
                     }),
               moves("flip_none", {2, 3}, {2, 3}, flipped({}), same),
               moves("flip_scalar", {}, {}, flipped({}), same),
               moves("flip_nothing", {0, 3}, {0, 3}, flipped({0, 1}), same),
               moves("roll", {7}, {7}, rolled({2}, {0}),
                     [](Place p) { return Place{(p[0] + 5) % 7}; }),
               moves("roll_back_and_far", {3, 4}, {3, 4}, rolled({-1, 9}, {0, 1}),
                     [](Place p) {
                       return Place{(p[0] + 1) % 3, (p[1] + 3) % 4};
                     }),
               moves("roll_round", {3, 4}, {3, 4}, rolled({-8}, {1}), same),
               moves("roll_nothing", {0}, {0}, rolled({1}, {0}), same),
               pads("pad", {2, 3}, {{1, 0}, {2, 1}}, constant, 1.5),
               pads("pad_none", {2, 3}, {{0, 0}, {0, 0}}, constant),
               pads("pad_nothing", {0, 2}, {{1, 1}, {0, 1}}, constant),
               pads("pad_scalar", {}, {}, constant),
               pads("pad_reflect", {3, 4}, {{2, 1}, {3, 3}}, reflect),
               pads("pad_edge", {3, 2}, {{2, 0}, {1, 4}}, edge),
               pads("pad_wrap", {3, 4}, {{3, 1}, {0, 4}}, wrap),
               triangle("tril", {4, 3}, 0, true, [](int64_t d) { return d <= 0; }),
               triangle("triu", {3, 4}, 0, false, [](int64_t d) { return d >= 0; }),
               triangle("tril_above", {2, 3, 5}, 2, true, [](int64_t d) { return d <= 2; }),
               triangle("triu_below", {2, 5, 3}, -2, false, [](int64_t d) { return d >= -2; }),
               triangle("tril_below", {4, 4}, -1, true, [](int64_t d) { return d <= -1; }),
               triangle("tril_far", {3, 3}, int64_t{1} << 62, true, [](int64_t) { return true; }),
               triangle("triu_far", {3, 3}, int64_t{1} << 62, false, [](int64_t) { return false; }),
               triangle("tril_nothing", {0, 3}, 0, true, [](int64_t) { return true; })},
      .bad = {
          {"flip", [] { flip(ones({2, 2}), {1, -1}); },
           "flip: an axis is named twice: [1, -1] for shape [2, 2]. Name each axis once."},
          {"roll", [] { roll(ones({2, 2}), {1}, {0, 1}); },
           "roll: shifts and axes do not match: [1] and [0, 1]. Give one shift for each axis."},
          {"tile", [] { tile(ones({2}), {-1}); },
           "tile: a number of repeats is negative: [-1]. Use numbers from 0."},
          {"stack nothing", [] { stack({}, 0); },
           "stack: there is no tensor to join: 0 were given. Pass at least one."},
          {"stack", [] { stack(std::array{ones({2}), ones({3})}, 0); },
           "stack: the shapes differ: tensor 0 is [2], tensor 1 is [3]. Bring them to one shape."},
          {"pad rank", [] { pad(ones({2}), {}); },
           "pad: the tensor has 1 axes, but amounts are given for 0. Give one pair for each axis."},
          {"pad negative", [] { pad(ones({2}), {{-1, 0}}); },
           "pad: an amount is negative: -1 and 0 for axis 0. Use slice to cut."},
          {"pad reflect", [] { pad(ones({2}), {{0, 2}}, reflect); },
           "pad: the axis is too short for this mode: 0 and 2 for axis 0 of [2]. At most 1 fit."},
          {"triu", [] { triu(ones({2})); },
           "triu: there are no rows and columns: [2]. Pass a tensor with two axes or more."}}};
  for (OpCase& c : tile_and_stack()) cases.good.push_back(std::move(c));
  return cases;
}

}  // namespace plimsoll
