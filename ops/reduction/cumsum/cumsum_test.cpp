#include "ops/reduction/cumsum/cumsum.h"

#include "ops/pointwise/copy/copy.h"
#include "ops/random/full/full.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

// y[k] is the sum of all x[j] with j before k, and of x[k] itself unless exclusive.
OpCase running(const std::string& name, InputSpec x, int64_t axis, CumsumOptions options = {}) {
  return {.name = name,
          .inputs = {x},
          .call = [=](auto in) { return std::vector{cumsum(in[0], axis, options)}; },
          .reference =
              [=](const std::vector<Array>& in) {
                const int along = normal_axis("cumsum", axis, in[0].shape.rank());
                const int64_t size = in[0].shape[along], step = row_major(in[0].shape)[along];
                Array y(in[0].shape);
                for (int64_t i = 0; i < count(y.shape); ++i) {
                  const int64_t k = i / step % size;
                  for (int64_t j = 0; j < size; ++j) {
                    const bool before = options.reverse ? j > k : j < k;
                    if (before || (j == k && !options.exclusive)) y[i] += in[0][i + (j - k) * step];
                  }
                }
                return std::vector{y};
              },
          .differentiable = !x.integer};
}

}  // namespace

OpCases cumsum_cases() {
  const CumsumOptions exclusive{.exclusive = true}, reverse{.reverse = true},
      both{.exclusive = true, .reverse = true};
  return {
      .good = {running("rows", real({5, 7}), -1),
               running("rows_exclusive", real({5, 7}), 1, exclusive),
               running("rows_reverse", real({5, 7}), 1, reverse),
               running("rows_both", real({5, 7}), 1, both),
               running("columns", real({5, 7}), 0),
               running("middle", real({2, 3, 4}), 1),
               running("middle_exclusive", real({2, 3, 4}), 1, exclusive),
               running("middle_reverse", real({2, 3, 4}), 1, reverse),
               running("many_columns", real({3, 131}), 0, both),
               running("vector", real({1}), 0),
               running("vector_exclusive", real({1}), 0, exclusive),
               running("integers", index({3, 50}, 1000), 1),
               running("integers_both", index({4, 3}, 1000), 0, both),
               running("empty", real({3, 0}), 1),
               running("no_rows", real({0, 3}), 1),
               {.name = "booleans",
                .inputs = {given_index({4}, {1, 0, 2, 1})},
                .call =
                    [](auto in) {
                      return std::vector{cumsum(cast(in[0], DType::boolean), 0),
                                         cumsum(cast(in[0], DType::u8), 0),
                                         cumsum(cast(in[0], DType::i32), 0)};
                    },
                .reference =
                    [](auto) {
                      Array truths({4}), numbers({4});
                      truths.values = {1, 1, 2, 3};
                      numbers.values = {1, 1, 3, 4};
                      return std::vector{truths, numbers, numbers};
                    },
                .differentiable = false},
               {.name = "special",  // from an infinity on it stays, then there is no number
                .inputs = {given({5}, {1, kInf, 2, -kInf, 3})},
                .call = [](auto in) { return std::vector{cumsum(in[0], 0)}; },
                .reference =
                    [](auto) {
                      Array y({5});
                      y.values = {1, kInf, kInf, kNaN, kNaN};
                      return std::vector{y};
                    },
                .differentiable = false}},
      .bad = {
          {"axis",
           [] {
             cumsum(ones({2, 3}), 2);
           },
           "cumsum: the axis does not exist: axis 2 of a tensor with 2 axes. Count axes from 0, or "
           "from -1 backwards."},
          {"undefined", [] { cumsum(Tensor(), 0); },
           "cumsum: the tensor is undefined. Pass one that was computed."}}};
}

}  // namespace plimsoll
