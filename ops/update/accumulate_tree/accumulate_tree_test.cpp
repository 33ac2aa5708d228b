#include "ops/update/accumulate_tree/accumulate_tree.h"

#include "ops/common/update.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/random/full/full.h"
#include "ops/shape/view/view.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

Tensor number(int64_t value, const Tensor& like) {
  return full({1}, static_cast<double>(value), {DType::i64, like.device()});
}

// x [parts, n], each part times its number from 1; number `left_out` of them weighs nothing. The
// whole sum.
OpCase tree(const char* name, Shape shape, int levels, int64_t block, int64_t left_out = -1) {
  return {.name = name,
          .inputs = {real(shape)},
          .call =
              [=](auto in) {
                const Tensor& x = in[0];
                std::vector<Tensor> sums;
                for (int i = 0; i <= levels; ++i)
                  sums.push_back(full({shape[1]}, kNaN, {compute_dtype(x.dtype()), x.device()}));
                for (int64_t p = 0; p < shape[0]; ++p)
                  accumulate_tree(
                      sums, reshape(slice(x.detach(), 0, p, p + 1), {shape[1]}),
                      full({}, p == left_out ? 0 : double(p + 1), {DType::f64, x.device()}),
                      number(p, x), {.block = block, .last = p + 1 == shape[0]});
                return std::vector{sums.back()};
              },
          .reference =
              [=](const std::vector<Array>& in) {
                Array y({shape[1]});
                for (int64_t p = 0; p < shape[0]; ++p)
                  for (int64_t i = 0; i < shape[1] && p != left_out; ++i)
                    y[i] += double(p + 1) * in[0][p * shape[1] + i];
                return std::vector{y};
              },
          .tolerance = 8,  // of sums that may cancel
          .differentiable = false};
}

void on(const Meta& sum, const Meta& x, const Meta& weight, const Meta& part, int64_t block,
        double p = 0) {
  const Tensor sums[] = {ones(sum.shape, {sum.dtype})};
  accumulate_tree(sums, ones(x.shape, {x.dtype}), ones(weight.shape, {weight.dtype}),
                  full(part.shape, p, {part.dtype}), {.block = block});
}

}  // namespace

OpCases accumulate_tree_cases() {
  const Meta like{{2}}, scalar{{}, DType::f64}, place{{1}, DType::i64};
  return {
      .good = {tree("one", {1, 5}, 0, 1), tree("one_block", {4, 5}, 0, 4),
               tree("pairs", {4, 5}, 1, 2), tree("eight", {8, 5}, 3, 1),
               tree("sixteen", {16, 5}, 3, 2), tree("short", {5, 5}, 3, 1),
               tree("short_block", {7, 5}, 2, 3), tree("first_of_eight", {1, 5}, 3, 1),
               tree("nothing", {1, 5}, 3, 1, 0), tree("one_left_out", {4, 5}, 2, 1, 2),
               tree("empty", {4, 0}, 2, 1), tree("many_pieces", {4, 40001}, 2, 1)},
      .bad = {{"sum", [=] { on({{3}}, like, scalar, place, 1); },
               "accumulate_tree: the sum has another shape: parameter [2], sum [3]. Make it "
               "zeros of the parameter's shape."},
              {"weight", [=] { on(like, like, {{}}, place, 1); },
               "accumulate_tree: the weight is no scalar of f64: got f32 [] on cpu. Use "
               "full({}, value, {.dtype = DType::f64})."},
              {"part", [=] { on(like, like, scalar, scalar, 1); },
               "accumulate_tree: the part is no number: got f64 [] on cpu. Give it as i64 [1]."},
              {"block", [=] { on(like, like, scalar, place, 0); },
               "accumulate_tree: blocks of 0 in 1 levels are no tree. Use blocks of 1 or more, "
               "and 1 to 16 levels."},
              {"beyond", [=] { on(like, like, scalar, place, 2, 2); },
               "accumulate_tree: there is no part 2 in 1 blocks of 2. Count from 0."}}};
}

}  // namespace plimsoll
