#include "ops/collective/sum_parts/sum_parts.h"

#include "ops/random/full/full.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

OpCase parts(const char* name, Shape shape) {
  return {.name = name,
          .inputs = {real(shape)},
          .call = [](auto in) { return std::vector{sum_parts(in[0])}; },
          .reference =
              [](const std::vector<Array>& in) {
                Shape shape;
                for (int axis = 1; axis < in[0].shape.rank(); ++axis)
                  shape.push_back(in[0].shape[axis]);
                Array y(shape);
                const int64_t n = std::ssize(y.values);
                for (int64_t i = 0; i < std::ssize(in[0].values); ++i) y[i % n] += in[0][i];
                return std::vector{y};
              },
          .tolerance = 4};  // of sums that may cancel
}

}  // namespace

OpCases sum_parts_cases() {
  return {.good = {parts("one", {1, 5}), parts("two", {2, 3, 5}), parts("three", {3, 8}),
                   parts("seven", {7, 4}), parts("sixteen", {16, 9}), parts("numbers", {4}),
                   parts("empty", {4, 0}), parts("many", {5, 20001})},
          .bad = {{"none",
                   [] {
                     sum_parts(ones({0, 3}));
                   },
                   "sum_parts: there are no parts: [0, 3]. Give it [N, ...] with N >= 1."},
                  {"scalar", [] { sum_parts(ones({})); },
                   "sum_parts: there are no parts: []. Give it [N, ...] with N >= 1."},
                  {"integers",
                   [] {
                     sum_parts(ones({2, 2}, {DType::i64}));
                   },
                   "sum_parts: a floating type is needed: got i64 [2, 2] on cpu. Cast it first."}}};
}

}  // namespace plimsoll
