#include "ops/collective/all_gather/all_gather.h"

#include "ops/collective/common/exchange.h"
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

}  // namespace

OpCases all_gather_cases() {
  stand_before_mirror();
  return {.good = {gathered_case("rows", {2, 5}), gathered_case("scalar", {}),
                   gathered_case("empty", {0, 2}), gathered_case("many", {50, 70})},
          .bad = {}};
}

}  // namespace plimsoll
