#include "ops/collective/broadcast/broadcast.h"

#include "autograd/gradients.h"
#include "ops/random/full/full.h"
#include "tests/support/mirror_ranks.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

// With the gradient for ones: the sum of three of them where this rank is the root, else zeros.
OpCase from(const char* name, Shape shape, int64_t root) {
  return {.name = name,
          .inputs = {real(shape)},
          .call =
              [=](auto in) {
                const Tensor x = in[0].detach().require_grad(), y = broadcast(x, root);
                return std::vector{
                    y.detach(),
                    gradients(y, std::array{x}, {.seed = ones(shape, {x.dtype(), x.device()})})[0]};
              },
          .reference =
              [=](const std::vector<Array>& in) {
                Array dx = in[0];
                for (double& v : dx.values) v = root == kMirror ? kMirrored : 0;
                return std::vector{in[0], dx};
              },
          .differentiable = false};  // the ranks of a mirror move together: tests/ops/ranks_test
}

}  // namespace

OpCases broadcast_cases() {
  stand_before_mirror();
  return {.good = {from("from_this", {2, 5}, kMirror), from("from_another", {2, 5}, 0),
                   from("scalar", {}, 0)},
          .bad = {{"root", [] { broadcast(ones({2}), 3); },
                   "broadcast: there is no rank 3 of 3. Count from 0."}}};
}

}  // namespace plimsoll
