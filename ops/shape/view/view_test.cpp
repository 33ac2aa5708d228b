#include "ops/shape/view/view.h"

#include "ops/pointwise/arithmetic/arithmetic.h"
#include "ops/random/full/full.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

using Call = std::function<Tensor(const Tensor&)>;
using Index = std::vector<int64_t>;

// y[index] = x[where(index)], index by index: the whole definition of a view.
OpCase view(const char* name, Shape from, Shape to, Call call, std::function<Index(Index)> where) {
  return {.name = name,
          .inputs = {real(from)},
          .call = [call](auto in) { return std::vector{call(in[0])}; },
          .reference =
              [from, to, where](const std::vector<Array>& in) {
                Array y(to);
                for (int64_t i = 0; i < count(to); ++i) {
                  Index index(static_cast<size_t>(to.rank()));
                  for (int64_t axis = to.rank() - 1, rest = i; axis >= 0; --axis) {
                    index[static_cast<size_t>(axis)] = rest % to[static_cast<int>(axis)];
                    rest /= to[static_cast<int>(axis)];
                  }
                  const Index source = where(index);
                  int64_t at = 0;
                  for (int axis = 0; axis < from.rank(); ++axis)
                    at = at * from[axis] + source[static_cast<size_t>(axis)];
                  y[i] = in[0][at];
                }
                return std::vector{y};
              }};
}

OpCase reshaped(const char* name, Shape from, Shape wanted, Shape to) {
  OpCase c = view(name, from, to, [wanted](const Tensor& x) { return reshape(x, wanted); }, {});
  c.reference = [to](const std::vector<Array>& in) {
    Array y(to);
    y.values = in[0].values;
    return std::vector{y};
  };
  return c;
}

// The same look at x * x: its gradient differs from place to place.
OpCase squared(OpCase c) {
  c.call = [call = c.call](std::span<const Tensor> in) { return call(std::vector{in[0] * in[0]}); };
  c.reference = [reference = c.reference](std::vector<Array> in) {
    for (double& v : in[0].values) v *= v;
    return reference(in);
  };
  return c;
}

std::vector<OpCase> reshapes() {
  OpCase strided = reshaped("reshape_strided", {3, 4}, {2, -1}, {2, 6});
  strided.call = [](auto in) { return std::vector{reshape(transpose(in[0]), {2, -1})}; };
  strided.reference = [](const std::vector<Array>& in) {
    Array y({2, 6});
    for (int64_t i = 0; i < 12; ++i) y[i] = in[0][i % 3 * 4 + i / 3];
    return std::vector{y};
  };
  return {reshaped("reshape", {2, 6}, {3, 4}, {3, 4}),
          reshaped("reshape_unknown", {2, 3, 4}, {4, -1}, {4, 6}),
          reshaped("reshape_same", {2, 3}, {2, 3}, {2, 3}),
          reshaped("reshape_scalar", {}, {1, -1, 1}, {1, 1, 1}),
          reshaped("reshape_to_scalar", {1, 1}, {}, {}),
          reshaped("reshape_empty", {2, 0, 3}, {0, 7}, {0, 7}),
          reshaped("reshape_empty_unknown", {2, 0, 3}, {2, -1}, {2, 0}),
          strided};
}

std::vector<OpCase> permutes() {
  const auto swap = [](Index i) { return Index{i[1], i[0]}; };
  return {
      view(
          "permute", {2, 3, 4}, {4, 2, 3},
          [](auto& x) {
            return permute(x, {2, 0, 1});
          },
          [](Index i) {
            return Index{i[1], i[2], i[0]};
          }),
      view(
          "permute_twice", {2, 3, 4}, {2, 3, 4},
          [](auto& x) {
            return permute(permute(x, {1, 2, 0}), {2, 0, 1});
          },
          [](Index i) { return i; }),
      view(
          "permute_scalar", {}, {}, [](auto& x) { return permute(x, {}); },
          [](Index i) { return i; }),
      view(
          "permute_empty", {2, 0}, {0, 2},
          [](auto& x) {
            return permute(x, {1, 0});
          },
          swap),
      squared(view(
          "transpose", {3, 5}, {5, 3}, [](auto& x) { return transpose(x); }, swap)),
      view(
          "transpose_axes", {2, 3, 4}, {4, 3, 2}, [](auto& x) { return transpose(x, 0, -1); },
          [](Index i) {
            return Index{i[2], i[1], i[0]};
          }),
  };
}

std::vector<OpCase> slices() {
  const auto along1 = [](int64_t start, int64_t step) {
    return [start, step](Index i) { return Index{i[0], start + step * i[1]}; };
  };
  return {
      view(
          "slice", {3, 7}, {3, 4}, [](auto& x) { return slice(x, 1, 2, 6); }, along1(2, 1)),
      view(
          "slice_step", {3, 7}, {3, 2}, [](auto& x) { return slice(x, -1, 1, 7, 3); },
          along1(1, 3)),
      view(
          "slice_odd_end", {3, 7}, {3, 3}, [](auto& x) { return slice(x, 1, 0, 6, 2); },
          along1(0, 2)),
      view(
          "slice_rows", {5, 2}, {2, 2}, [](auto& x) { return slice(x, 0, 3, 5); },
          [](Index i) {
            return Index{3 + i[0], i[1]};
          }),
      view(
          "slice_nothing", {3, 7}, {3, 0}, [](auto& x) { return slice(x, 1, 7, 7); }, along1(7, 1)),
      view(
          "slice_empty", {0, 2}, {0, 2}, [](auto& x) { return slice(x, 0, 0, 0); },
          [](Index i) { return i; }),
      view(
          "slice_huge_step", {3, 7}, {3, 1},
          [](auto& x) { return slice(x, 1, 5, 7, std::numeric_limits<int64_t>::max()); },
          along1(5, 1)),
      squared(view(
          "slice_of_slice", {3, 9}, {3, 2},
          [](auto& x) { return slice(slice(x, 1, 1, 9, 2), 1, 1, 4, 2); }, along1(3, 4))),
      view(
          "slice_of_transposed", {4, 6}, {3, 2},
          [](auto& x) { return slice(slice(transpose(x), 0, 0, 6, 2), 1, 1, 3); },
          [](Index i) {
            return Index{1 + i[1], 2 * i[0]};
          }),
  };
}

std::vector<OpCase> expands() {
  return {
      squared(view(
          "expand", {3, 1}, {3, 4},
          [](auto& x) {
            return expand(x, {3, 4});
          },
          [](Index i) {
            return Index{i[0], 0};
          })),
      view(
          "expand_front", {3}, {2, 4, 3},
          [](auto& x) {
            return expand(x, {2, 4, 3});
          },
          [](Index i) { return Index{i[2]}; }),
      view(
          "expand_middle", {2, 1, 3}, {5, 2, 4, 3},
          [](auto& x) {
            return expand(x, {5, 2, 4, 3});
          },
          [](Index i) {
            return Index{i[1], 0, i[3]};
          }),
      view(
          "expand_scalar", {}, {2, 2},
          [](auto& x) {
            return expand(x, {2, 2});
          },
          [](Index) { return Index{}; }),
      view(
          "expand_same", {2, 2}, {2, 2},
          [](auto& x) {
            return expand(x, {2, 2});
          },
          [](Index i) { return i; }),
      view(
          "expand_to_nothing", {1, 3}, {0, 3},
          [](auto& x) {
            return expand(x, {0, 3});
          },
          [](Index i) { return i; }),
      view(
          "expand_transposed", {3, 1}, {2, 1, 3},
          [](auto& x) {
            return expand(transpose(x), {2, 1, 3});
          },
          [](Index i) {
            return Index{i[2], 0};
          }),
  };
}

}  // namespace

OpCases view_cases() {
  OpCases cases;
  for (const auto& group : {reshapes(), permutes(), slices(), expands()})
    cases.good.insert(cases.good.end(), group.begin(), group.end());
  cases.bad = {
      {"reshape undefined", [] { reshape(Tensor(), {}); },
       "reshape: the tensor is undefined. Pass one that was computed."},
      {"transpose undefined", [] { transpose(Tensor()); },
       "transpose: the tensor is undefined. Pass one that was computed."},
      {"slice undefined", [] { slice(Tensor(), 0, 0, 1); },
       "slice: the tensor is undefined. Pass one that was computed."},
      {"expand undefined", [] { expand(Tensor(), {}); },
       "expand: the tensor is undefined. Pass one that was computed."},
      {"slice long step", [] { slice(ones({3}), 0, 0, 4, 9); },
       "slice: the range does not fit: 0 to 4 by 9 of axis 0 of [3]. Stay within 0 to 3."},
      {"reshape",
       [] {
         reshape(ones({2, 3}), {4, 2});
       },
       "reshape: the number of elements differs: [2, 3] to [4, 2]. Keep the product of the sizes."},
      {"reshape unknown",
       [] {
         reshape(ones({2, 3}), {4, -1});
       },
       "reshape: the number of elements differs: [2, 3] to [4, -1]. Keep the product of the "
       "sizes."},
      {"reshape unknown twice",
       [] {
         reshape(ones({2, 3}), {-1, -1});
       },
       "reshape: the number of elements differs: [2, 3] to [-1, -1]. Keep the product of the "
       "sizes."},
      {"reshape negative",
       [] {
         reshape(ones({2, 3}), {-2, -3});
       },
       "reshape: the number of elements differs: [2, 3] to [-2, -3]. Keep the product of the "
       "sizes."},
      {"reshape undecided",
       [] {
         reshape(ones({0, 3}), {0, -1});
       },
       "reshape: the number of elements differs: [0, 3] to [0, -1]. Keep the product of the "
       "sizes."},
      {"permute twice",
       [] {
         permute(ones({2, 3}), {0, 0});
       },
       "permute: the order does not name every axis once: [0, 0] for shape [2, 3]. List the axes 0 "
       "to 1."},
      {"permute short",
       [] {
         permute(ones({2, 3}), {0});
       },
       "permute: the order does not name every axis once: [0] for shape [2, 3]. List the axes 0 to "
       "1."},
      {"permute outside",
       [] {
         permute(ones({2, 3}), {0, 2});
       },
       "permute: the order does not name every axis once: [0, 2] for shape [2, 3]. List the axes 0 "
       "to 1."},
      {"transpose",
       [] {
         transpose(ones({2, 3}), 0, 2);
       },
       "transpose: the axis does not exist: axis 2 of a tensor with 2 axes. Count axes from 0, or "
       "from -1 backwards."},
      {"slice axis",
       [] {
         slice(ones({2, 3}), -3, 0, 1);
       },
       "slice: the axis does not exist: axis -3 of a tensor with 2 axes. Count axes from 0, or "
       "from "
       "-1 backwards."},
      {"slice range",
       [] {
         slice(ones({2, 3}), 1, 1, 4);
       },
       "slice: the range does not fit: 1 to 4 by 1 of axis 1 of [2, 3]. Stay within 0 to 3."},
      {"slice backwards",
       [] {
         slice(ones({2, 3}), 1, 2, 1);
       },
       "slice: the range does not fit: 2 to 1 by 1 of axis 1 of [2, 3]. Stay within 0 to 3."},
      {"slice negative",
       [] {
         slice(ones({2, 3}), 1, -1, 1);
       },
       "slice: the range does not fit: -1 to 1 by 1 of axis 1 of [2, 3]. Stay within 0 to 3."},
      {"slice step",
       [] {
         slice(ones({2, 3}), 1, 0, 3, 0);
       },
       "slice: the range does not fit: 0 to 3 by 0 of axis 1 of [2, 3]. Stay within 0 to 3."},
      {"expand size",
       [] {
         expand(ones({2, 3}), {2, 4});
       },
       "expand: the shapes do not broadcast: [2, 3] and [2, 4]. Sizes must be equal or 1, aligned "
       "at the last axis."},
      {"expand smaller",
       [] {
         expand(ones({2, 3}), {1, 3});
       },
       "expand: the shape cannot be reached: [2, 3] to [1, 3]. Only sizes of 1 are repeated."},
      {"expand fewer axes",
       [] {
         expand(ones({2, 3}), {3});
       },
       "expand: the shape cannot be reached: [2, 3] to [3]. Only sizes of 1 are repeated."},
      {"expand negative",
       [] {
         expand(ones({1, 3}), {-2, 3});
       },
       "shape: a size is negative: [-2, 3]. Use sizes of 0 or more."},
      {"undefined", [] { permute(Tensor(), {}); },
       "permute: input 0 is undefined. Pass a tensor that was computed."}};
  return cases;
}

}  // namespace plimsoll
