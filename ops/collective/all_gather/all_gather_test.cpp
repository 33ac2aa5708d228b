#include "ops/collective/all_gather/all_gather.h"

#include "ops/collective/common/exchange.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/random/full/full.h"
#include "tests/support/mirror_ranks.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

OpCase gathered_case(const char* name, Shape shape) {
  return {.name = name,
          .inputs = {real(shape)},
          .call = [](auto in) { return std::vector{all_gather(in[0])}; },
          .reference =
              [](const std::vector<Array>& in) {
                Array y(collective::with_first_axis(kMirrored, in[0].shape));
                for (int64_t i = 0; i < std::ssize(y.values); ++i)
                  y[i] = in[0][i % std::ssize(in[0].values)];
                return std::vector{y};
              },
          .differentiable = false};  // the ranks of a mirror move together: tests/ops/ranks_test
}

// In place of a copy of x [3, ...]: all have what lies at the mirror's place.
OpCase in_place_case(const char* name, Shape shape) {
  return {.name = name,
          .inputs = {real(shape)},
          .call =
              [](auto in) {
                const Tensor parts = clone(in[0].detach());
                all_gather_in_place(parts);
                return std::vector{parts};
              },
          .reference =
              [](const std::vector<Array>& in) {
                Array y = in[0];
                const int64_t part = std::ssize(y.values) / kMirrored;
                for (int64_t i = 0; i < std::ssize(y.values); ++i)
                  y[i] = in[0][kMirror * part + i % part];
                return std::vector{y};
              },
          .differentiable = false};
}

}  // namespace

OpCases all_gather_cases() {
  stand_before_mirror();
  return {.good = {gathered_case("rows", {2, 5}), gathered_case("scalar", {}),
                   gathered_case("empty", {0, 2}), gathered_case("many", {50, 70}),
                   in_place_case("in_place", {3, 2, 5}), in_place_case("in_place_many", {3, 999})},
          .bad = {{"parts",
                   [] {
                     all_gather_in_place(ones({2, 5}));
                   },
                   "all_gather_in_place: the first axis is not one part for each of 3 ranks: [2, "
                   "5]. Reshape it to [3, ...]."}}};
}

}  // namespace plimsoll
