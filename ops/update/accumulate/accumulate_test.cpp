#include "ops/update/accumulate/accumulate.h"

#include "ops/common/update.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/random/full/full.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

// Inputs: total, x. The total and the weights before it are read except in the first.
OpCase parts(const char* name, InputSpec x, double weight, double weights, Accumulate options) {
  return {.name = name,
          .inputs = {real(x.shape, -8, 8), x},
          .call =
              [=](auto in) {
                const Placement scalar{DType::f64, in[0].device()};
                const Tensor w = full({}, weight, scalar), before = full({}, weights, scalar);
                const Tensor total = clone(cast(in[0].detach(), compute_dtype(in[0].dtype())));
                accumulate(total, in[1].detach(), w, before, options);
                return std::vector{total};
              },
          .reference =
              [=](const std::vector<Array>& in) {
                Array y = in[0];
                const double all = (options.first ? 0 : weights) + weight;
                for (int64_t i = 0; i < count(y.shape); ++i) {
                  double total = options.first ? 0 : in[0][i];
                  if (weight != 0) total += weight * in[1][i];
                  if (options.last) total = all == 0 ? 0 : total / all;
                  y[i] = total;
                }
                return std::vector{y};
              },
          .differentiable = false};
}

void accumulate_ones(Meta total, Meta x, Meta weight, Meta weights) {
  const auto make = [](const Meta& meta) { return ones(meta.shape, {meta.dtype}); };
  accumulate(make(total), make(x), make(weight), make(weights));
}

}  // namespace

OpCases accumulate_cases() {
  const Meta like{{2}}, scalar{{}, DType::f64};
  const auto unseen = given({3}, {kNaN, kInf, 1});
  return {.good = {parts("first", real({5, 7}), 3, kNaN, {.first = true}),
                   parts("middle", real({5, 7}), 3, 4, {}),
                   parts("last", real({5, 7}), 3, 4, {.last = true}),
                   parts("only", real({5, 7}), 3, kNaN, {.first = true, .last = true}),
                   parts("first_of_nothing", unseen, 0, kNaN, {.first = true}),
                   parts("middle_of_nothing", unseen, 0, 4, {}),
                   parts("last_of_nothing", unseen, 0, 4, {.last = true}),
                   parts("nothing_at_all", unseen, 0, 0, {.first = true, .last = true}),
                   parts("eight_columns", real({5, 8}), 2, 1, {.last = true}),
                   parts("scalar", real({}), 2, 1, {}), parts("empty", real({0, 3}), 2, 1, {}),
                   parts("many_pieces", real({40001}), 2, 1, {.last = true})},
          .bad = {{"shape", [=] { accumulate_ones({{3}}, like, scalar, scalar); },
                   "accumulate: the total has another shape: parameter [2], total [3]. Make it "
                   "zeros of the parameter's shape."},
                  {"type",
                   [=] {
                     accumulate_ones({{2}, DType::bf16}, {{2}, DType::bf16}, scalar, scalar);
                   },
                   "accumulate: the total has the wrong type: got bf16 for a parameter in bf16. "
                   "Make it f32."},
                  {"integers",
                   [=] {
                     accumulate_ones(like, {{2}, DType::i64}, scalar, scalar);
                   },
                   "accumulate: a floating type is needed: got i64 [2] on cpu. Cast it first."},
                  {"weight", [=] { accumulate_ones(like, like, {{}}, scalar); },
                   "accumulate: a weight is no scalar of f64: got f32 [] on cpu. Use full({}, "
                   "value, {.dtype = DType::f64})."},
                  {"weights",
                   [=] {
                     accumulate_ones(like, like, scalar, {{1}, DType::f64});
                   },
                   "accumulate: a weight is no scalar of f64: got f64 [1] on cpu. Use full({}, "
                   "value, {.dtype = DType::f64})."}}};
}

}  // namespace plimsoll
