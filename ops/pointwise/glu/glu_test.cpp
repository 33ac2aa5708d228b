#include "ops/pointwise/glu/glu.h"

#include "ops/random/full/full.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

// x [outer, 2 * size, inner] -> y [outer, size, inner]; `shape` is that of y.
OpCase gated(const std::string& name, InputSpec x, int64_t axis, Shape shape, int64_t size,
             int64_t inner, bool swish) {
  return {
      .name = name,
      .inputs = {x},
      .call = [=](auto in) { return std::vector{swish ? swiglu(in[0], axis) : glu(in[0], axis)}; },
      .reference =
          [=](const std::vector<Array>& in) {
            Array y(shape);
            for (int64_t i = 0; i < count(shape); ++i) {
              const int64_t row = i / (size * inner), rest = i % (size * inner);
              const double a = in[0][row * 2 * size * inner + rest];
              const double b = in[0][(row * 2 + 1) * size * inner + rest];
              y[i] = swish ? a * logistic(a) * b : a * logistic(b);
            }
            return std::vector{y};
          }};
}

}  // namespace

OpCases glu_cases() {
  OpCases cases;
  for (const bool swish : {false, true}) {
    const std::string name = swish ? "swiglu" : "glu";
    cases.good.push_back(gated(name, real({5, 6}, -3, 3), -1, {5, 3}, 3, 1, swish));
    cases.good.push_back(
        gated(name + "_middle", real({2, 4, 3}, -3, 3), 1, {2, 2, 3}, 2, 3, swish));
    cases.good.push_back(gated(name + "_first", real({2, 3}), 0, {1, 3}, 1, 3, swish));
    cases.good.push_back(gated(name + "_empty", real({3, 0}), -1, {3, 0}, 0, 1, swish));
  }
  cases.bad = {{"odd",
                [] {
                  glu(ones({2, 3}));
                },
                "glu: axis 1 of [2, 3] has no two equal halves. Give it an even size."},
               {"odd_first",
                [] {
                  swiglu(ones({3, 2}), 0);
                },
                "swiglu: axis 0 of [3, 2] has no two equal halves. Give it an even size."},
               {"undefined", [] { glu(Tensor()); },
                "glu: the tensor is undefined. Pass one that was computed."}};
  return cases;
}

}  // namespace plimsoll
