#include "ops/reduction/softmax/softmax.h"

#include "ops/random/full/full.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

// Along `axis` of x [outer, n, inner].
std::vector<Array> reference(const Array& x, int axis, bool log) {
  int64_t outer = 1, inner = 1;
  for (int a = 0; a < axis; ++a) outer *= x.size(a);
  for (int a = axis + 1; a < x.shape.rank(); ++a) inner *= x.size(a);
  const int64_t n = x.size(axis);
  Array y(x.shape);
  for (int64_t row = 0; row < outer * inner; ++row) {
    const int64_t at = row / inner * n * inner + row % inner;
    double highest = -kInf, total = 0;
    for (int64_t i = 0; i < n; ++i) highest = std::max(highest, x[at + i * inner]);
    for (int64_t i = 0; i < n; ++i) total += std::exp(x[at + i * inner] - highest);
    for (int64_t i = 0; i < n; ++i) {
      const double shifted = x[at + i * inner] - highest;
      y[at + i * inner] = log ? shifted - std::log(total) : std::exp(shifted) / total;
    }
  }
  return {y};
}

OpCase plain(const char* name, InputSpec x, int axis) {
  return {.name = name,
          .inputs = {x},
          .call = [axis](auto in) { return std::vector{softmax(in[0], axis)}; },
          .reference =
              [axis](const std::vector<Array>& in) {
                return reference(in[0], axis < 0 ? axis + in[0].shape.rank() : axis, false);
              }};
}

OpCase logarithm(const char* name, InputSpec x, int axis) {
  return {.name = name,
          .inputs = {x},
          .call = [axis](auto in) { return std::vector{log_softmax(in[0], axis)}; },
          .reference =
              [axis](const std::vector<Array>& in) {
                return reference(in[0], axis < 0 ? axis + in[0].shape.rank() : axis, true);
              }};
}

// Rows that are not numbers all through have no gradient to check.
OpCase masked(OpCase c) {
  c.differentiable = false;
  return c;
}

}  // namespace

OpCases softmax_cases() {
  const InputSpec partly = given({2, 3}, {-kInf, 1, 2, -kInf, -kInf, 5});
  const InputSpec fully = given({2, 2}, {-kInf, -kInf, 0, 1});
  return {
      .good = {plain("eight_columns", real({3, 8}), -1),
               logarithm("log_eight_columns", real({3, 8}), -1),
               plain("rows", real({4, 7}, -3, 3), -1), plain("long_row", real({2, 67}, -3, 3), 1),
               plain("first_axis", real({5, 3}, -2, 2), 0),
               plain("middle_axis", real({2, 5, 3}, -2, 2), 1),
               plain("one_column", real({3, 1}), -1), plain("large", real({3, 9}, 1000, 1010), -1),
               plain("empty_rows", real({0, 3}), -1), plain("empty_axis", real({3, 0}), -1),
               masked(plain("minus_infinity", partly, -1)),
               masked(plain("all_minus_infinity", fully, -1)),
               logarithm("log_rows", real({4, 7}, -3, 3), -1),
               logarithm("log_middle_axis", real({2, 5, 3}, -2, 2), 1),
               logarithm("log_large", real({3, 9}, -1010, -1000), -1),
               logarithm("log_empty", real({3, 0}), -1),
               masked(logarithm("log_all_minus_infinity", fully, -1))},
      .bad = {{"undefined", [] { softmax(Tensor()); },
               "softmax: the tensor is undefined. Pass one that was computed."},
              {"axis", [] { softmax(ones({2}), 1); },
               "softmax: the axis does not exist: axis 1 of a tensor with 1 axes. Count axes from "
               "0, or from -1 backwards."},
              {"scalar", [] { log_softmax(ones({})); },
               "log_softmax: the axis does not exist: axis -1 of a tensor with 0 axes. Count axes "
               "from 0, or from -1 backwards."},
              {"integers", [] { softmax(ones({2}, {.dtype = DType::i64})); },
               "softmax: a floating type is needed: got i64 [2] on cpu. Cast it first."}}};
}

}  // namespace plimsoll
