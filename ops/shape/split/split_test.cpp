#include "ops/shape/split/split.h"

#include "ops/pointwise/arithmetic/arithmetic.h"
#include "ops/pointwise/math/math.h"
#include "ops/random/full/full.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

// x seen as [outer, n, inner]; the part [outer, size, inner] that starts at `start`.
Array part(const Array& x, int axis, int64_t start, int64_t size) {
  Shape shape = x.shape;
  shape[axis] = size;
  Array y(shape);
  int64_t outer = 1, inner = 1;
  for (int a = 0; a < x.shape.rank(); ++a) (a < axis ? outer : inner) *= a == axis ? 1 : x.size(a);
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < size; ++i)
      for (int64_t j = 0; j < inner; ++j)
        y[(o * size + i) * inner + j] = x[(o * x.size(axis) + start + i) * inner + j];
  return y;
}

OpCase splits(const char* name, Shape shape, int axis, std::vector<int64_t> sizes) {
  return {.name = name,
          .inputs = {real(shape)},
          .call = [=](auto in) { return split(in[0], axis, sizes); },
          .reference =
              [=](const std::vector<Array>& in) {
                std::vector<Array> parts;
                int64_t start = 0;
                for (const int64_t size : sizes) {
                  parts.push_back(part(in[0], axis, start, size));
                  start += size;
                }
                return parts;
              }};
}

}  // namespace

OpCases split_cases() {
  OpCase equal = splits("equal", {2, 6, 3}, 1, {2, 2, 2});
  equal.call = [](auto in) { return split(in[0], -2, 3); };
  OpCase bindings = splits("bindings", {4, 4}, 0, {2, 2});
  bindings.call = [](auto in) {
    const auto [a, b] = split_into<2>(in[0], 0);
    return std::vector{a, b};
  };
  OpCase unused = splits("unused_part", {3, 6}, 1, {2, 1, 3});  // its gradient is zero
  unused.call = [](auto in) { return std::vector{square(split(in[0], 1, {2, 1, 3})[2])}; };
  unused.reference = [](const std::vector<Array>& in) {
    Array y = part(in[0], 1, 3, 3);
    for (double& v : y.values) v *= v;
    return std::vector{y};
  };
  OpCase added = splits("parts_added", {2, 6}, 1, {3, 3});  // a part used twice
  added.call = [](auto in) {
    const auto [a, b] = split_into<2>(square(in[0]), 1);
    return std::vector{a * b + a};
  };
  added.reference = [](const std::vector<Array>& in) {
    Array a = part(in[0], 1, 0, 3);
    const Array b = part(in[0], 1, 3, 3);
    for (int64_t i = 0; i < 6; ++i) a[i] = a[i] * a[i] * (b[i] * b[i] + 1);
    return std::vector{a};
  };
  return {.good = {splits("first", {5, 3}, 0, {1, 4}), splits("last", {2, 3, 6}, 2, {1, 2, 3}),
                   splits("middle", {2, 5, 3}, 1, {2, 0, 3}), splits("whole", {4}, 0, {4}),
                   splits("nothing", {0, 3}, 1, {1, 2}), splits("of_nothing", {2, 0}, 1, {0, 0}),
                   equal, bindings, unused, added},
          .bad = {{"sum",
                   [] {
                     split(ones({2, 5}), 1, {2, 2});
                   },
                   "split: the sizes do not add up to the axis: [2, 2] for axis 1 of [2, 5]. Give "
                   "sizes from 0 with the sum 5."},
                  {"negative",
                   [] {
                     split(ones({2}), 0, {3, -1});
                   },
                   "split: the sizes do not add up to the axis: [3, -1] for axis 0 of [2]. Give "
                   "sizes from 0 with the sum 2."},
                  {"empty", [] { split(ones({0}), 0, {}); },
                   "split: the sizes do not add up to the axis: [] for axis 0 of [0]. Give sizes "
                   "from 0 with the sum 0."},
                  {"parts", [] { split(ones({5}), 0, 2); },
                   "split: 2 parts do not divide the axis: its size is 5. Choose a divisor, or "
                   "give the sizes."},
                  {"axis", [] { split(ones({5}), 1, 5); },
                   "split: the axis does not exist: axis 1 of a tensor with 1 axes. Count axes "
                   "from 0, or from -1 backwards."},
                  {"undefined", [] { split(Tensor(), 0, 1); },
                   "split: the tensor is undefined. Pass one that was computed."}}};
}

}  // namespace plimsoll
