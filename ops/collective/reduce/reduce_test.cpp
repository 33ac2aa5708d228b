#include "ops/collective/reduce/reduce.h"

#include "ops/random/full/full.h"
#include "tests/support/mirror_ranks.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

// In a mirror each rank has the part of a sum that this one has, so all elements are alike here;
// others, and gradients, are checked on ranks that differ: tests/ops/ranks_test.cpp.
OpCase reduced(const char* name, Shape shape, Tensor (*op)(const Tensor&), double times) {
  return {.name = name,
          .inputs = {given(shape, std::vector<double>(static_cast<size_t>(count(shape)), 0.75))},
          .call = [=](auto in) { return std::vector{op(in[0])}; },
          .reference =
              [=](const std::vector<Array>& in) {
                Array y = in[0];
                for (double& v : y.values) v *= times;
                return std::vector{y};
              },
          .differentiable = false};
}

OpCase scattered() {
  return {.name = "reduce_scatter",
          .inputs = {real({3, 4})},
          .call = [](auto in) { return std::vector{reduce_scatter(in[0])}; },
          .reference =
              [](const std::vector<Array>& in) {
                Array y({4});
                for (int64_t i = 0; i < 4; ++i) y[i] = kMirrored * in[0][kMirror * 4 + i];
                return std::vector{y};
              },
          .differentiable = false};
}

}  // namespace

OpCases reduce_cases() {
  stand_before_mirror();
  return {.good = {reduced("all_reduce", {2, 3}, all_reduce, kMirrored),
                   reduced("all_reduce_padded", {2, 5}, all_reduce, kMirrored),
                   reduced("all_reduce_empty", {0}, all_reduce, kMirrored),
                   reduced("replicated", {2, 5}, replicated, 1),
                   reduced("summed", {2, 5}, summed, kMirrored), scattered()},
          .bad = {{"integers", [] { all_reduce(ones({2}, {DType::i64})); },
                   "all_reduce: a floating type is needed: got i64 [2] on cpu. Cast it first."},
                  {"parts",
                   [] {
                     reduce_scatter(ones({2, 3}));
                   },
                   "all_to_all: the first axis is not one part for each of 3 ranks: [2, 3]. "
                   "Reshape it to [3, ...]."}}};
}

}  // namespace plimsoll
