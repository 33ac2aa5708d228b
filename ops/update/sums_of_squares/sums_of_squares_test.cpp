#include "ops/update/sums_of_squares/sums_of_squares.h"

#include <array>

#include "ops/random/full/full.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

OpCase squares(const char* name, std::vector<InputSpec> inputs, int64_t chunk) {
  return {.name = name,
          .inputs = std::move(inputs),
          .call = [=](auto in) { return std::vector{sums_of_squares(in, chunk)}; },
          .reference =
              [=](const std::vector<Array>& in) {
                std::vector<double> sums;
                for (const Array& x : in)
                  for (size_t i = 0; i < x.values.size(); ++i) {
                    if (static_cast<int64_t>(i) % chunk == 0) sums.push_back(0);
                    sums.back() += x.values[i] * x.values[i];
                  }
                Array y({std::ssize(sums)});
                y.values = sums;
                return std::vector{y};
              },
          .differentiable = false};
}

}  // namespace

OpCases sums_of_squares_cases() {
  return {.good = {squares("one", {real({5, 7})}, 8), squares("whole", {real({4, 8})}, 16),
                   squares("three", {real({5}), real({2, 3}), real({})}, 4),
                   squares("ones", {real({7})}, 1), squares("empty", {real({0, 3})}, 64),
                   squares("some_empty", {real({0}), real({4})}, 3),
                   squares("many_pieces", {real({40001}), real({1})}, 64)},
          .bad = {{"none", [] { sums_of_squares({}, 64); },
                   "sums_of_squares: there is no tensor: 0 were given. Pass at least one."},
                  {"integers",
                   [] {
                     sums_of_squares(std::array{ones({2}), ones({3}, {.dtype = DType::i64})}, 64);
                   },
                   "sums_of_squares: a floating type is needed: tensor 1 is i64 [3] on cpu. Cast "
                   "it first."},
                  {"chunk", [] { sums_of_squares(std::array{ones({2})}, 0); },
                   "sums_of_squares: there is no such chunk: 0 elements. Use 1 or more."}}};
}

}  // namespace plimsoll
