#include "ops/collective/all_to_all/all_to_all.h"

#include "ops/random/full/full.h"
#include "tests/support/mirror_ranks.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

OpCase exchanged(const char* name, Shape shape) {
  return {.name = name,
          .inputs = {real(shape)},
          .call = [](auto in) { return std::vector{all_to_all(in[0])}; },
          .reference =
              [](const std::vector<Array>& in) {
                Array y = in[0];
                const int64_t part = std::ssize(y.values) / kMirrored;
                for (int64_t i = 0; i < std::ssize(y.values); ++i)
                  y[i] = in[0][kMirror * part + (part == 0 ? 0 : i % part)];
                return std::vector{y};
              },
          .differentiable = false};  // the ranks of a mirror move together: tests/ops/ranks_test
}

}  // namespace

OpCases all_to_all_cases() {
  stand_before_mirror();
  return {.good = {exchanged("rows", {3, 4}), exchanged("numbers", {3}), exchanged("empty", {3, 0}),
                   exchanged("many", {3, 50, 70})},
          .bad = {{"parts",
                   [] {
                     all_to_all(ones({2, 3}));
                   },
                   "all_to_all: the first axis is not one part for each of 3 ranks: [2, 3]. "
                   "Reshape it to [3, ...]."},
                  {"scalar", [] { all_to_all(ones({})); },
                   "all_to_all: the first axis is not one part for each of 3 ranks: []. Reshape it "
                   "to [3, ...]."}}};
}

}  // namespace plimsoll
