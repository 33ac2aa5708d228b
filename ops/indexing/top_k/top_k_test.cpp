#include "ops/indexing/top_k/top_k.h"

#include <algorithm>

#include "ops/random/full/full.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

// Sorts each column as pairs, NaN counting as more than infinity.
std::vector<Array> reference(const Array& x, int64_t k, int axis, Order order) {
  Shape to = x.shape;
  to[axis] = k;
  Array values(to), indices(to);
  int64_t inner = 1;
  for (int a = axis + 1; a < x.shape.rank(); ++a) inner *= x.shape[a];
  const int64_t n = x.shape[axis];
  for (int64_t column = 0; n > 0 && column < count(x.shape) / n; ++column) {
    const int64_t from = column / inner * n * inner + column % inner;
    const int64_t first = column / inner * k * inner + column % inner;
    std::vector<std::pair<double, int64_t>> all;
    for (int64_t i = 0; i < n; ++i) {
      const double v = x[from + i * inner],
                   key = std::isnan(v) ? 1e300 : std::clamp(v, -1e299, 1e299);
      all.emplace_back(order == Order::largest ? -key : key, i);
    }
    std::sort(all.begin(), all.end());
    for (int64_t i = 0; i < k; ++i) {
      const int64_t place = all[static_cast<size_t>(i)].second;
      values[first + i * inner] = x[from + place * inner];
      indices[first + i * inner] = static_cast<double>(place);
    }
  }
  return {values, indices};
}

OpCase top(const char* name, InputSpec x, int64_t k, int axis, Order order = Order::largest) {
  return {
      .name = name,
      .inputs = {x},
      .call =
          [=](auto in) {
            const auto [values, indices] = top_k(in[0], k, axis - in[0].rank(), order);
            return std::vector{values, indices};
          },
      .reference = [=](const std::vector<Array>& in) { return reference(in[0], k, axis, order); }};
}

// Values apart from each other, so that a small step changes no order, in every type.
InputSpec shuffled(Shape shape) {
  std::vector<double> values;
  const int64_t n = count(shape);
  for (int64_t i = 0; i < n; ++i) values.push_back(0.125 * static_cast<double>(i * 37 % 101 - 50));
  return given(shape, values);
}

OpCase values_only(OpCase c) {
  c.differentiable = false;
  return c;
}

}  // namespace

OpCases top_k_cases() {
  using enum Order;
  return {
      .good = {top("rows", shuffled({4, 7}), 3, 1), top("columns", shuffled({7, 4}), 2, 0),
               top("middle", shuffled({2, 5, 3}), 4, 1, smallest),
               top("all", shuffled({3, 6}), 6, 1, smallest), top("one", shuffled({3, 1}), 1, 1),
               top("none", shuffled({3, 4}), 0, 1), top("no_rows", real({0, 4}), 2, 1),
               values_only(top("ties", given({6}, {1, 3, 2, 3, 1, 3}), 5, 0)),
               values_only(top("ties_smallest", given({6}, {1, 3, 2, 3, 1, 3}), 5, 0, smallest)),
               values_only(top("special", given({6}, {1, kNaN, kInf, -kInf, kNaN, 2}), 6, 0)),
               values_only(top("special_smallest", given({6}, {1, kNaN, kInf, -kInf, kNaN, 2}), 6,
                               0, smallest)),
               values_only(top("integers", given_index({2, 4}, {3, 9, -1, 9, 0, 5, 2, 7}), 3, 1))},
      .bad = {{"too_many", [] { top_k(ones({2, 3}), 4); },
               "top_k: 4 elements of axis 1 are asked for: [2, 3]. Use a k from 0 to its size."},
              {"negative", [] { top_k(ones({2, 3}), -1, 0); },
               "top_k: -1 elements of axis 0 are asked for: [2, 3]. Use a k from 0 to its size."},
              {"bool", [] { top_k(ones({2}, {.dtype = DType::boolean}), 1); },
               "top_k: a number type is needed: got bool [2] on cpu. Cast it first."},
              {"undefined", [] { top_k(Tensor(), 1); },
               "top_k: the tensor is undefined. Pass one that was computed."}}};
}

}  // namespace plimsoll
