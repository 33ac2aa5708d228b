#include "ops/collective/reduce/reduce.h"

#include <array>

#include "core/engine/apply.h"
#include "core/engine/backward.h"
#include "core/ranks/ranks.h"
#include "ops/collective/all_gather/all_gather.h"
#include "ops/collective/all_to_all/all_to_all.h"
#include "ops/collective/sum_parts/sum_parts.h"
#include "ops/common/expect.h"
#include "ops/random/full/full.h"
#include "ops/shape/concat/concat.h"
#include "ops/shape/view/view.h"

namespace plimsoll {
namespace {

Value same_view(const Value& in, const Meta&, const Attrs&, int) { return in; }

std::vector<Tensor> replicated_vjp(const Backward& b) { return {all_reduce(b.grad())}; }

constexpr OpDef replicated_op{
    .name = "replicated", .infer = same_as_input, .vjp = {replicated_vjp}, .view = same_view};

// Inputs: the sum, off the tape, and what it is the sum of.
std::vector<Tensor> summed_vjp(const Backward& b) { return {Tensor(), b.grad()}; }

constexpr OpDef summed_op{
    .name = "summed", .infer = same_as_input, .vjp = {summed_vjp}, .view = same_view};

}  // namespace

Tensor reduce_scatter(const Tensor& x) {
  check_defined("reduce_scatter", x);
  check_floating("reduce_scatter", x.meta());
  return sum_parts(all_to_all(x));
}

Tensor all_reduce(const Tensor& x) {
  check_defined("all_reduce", x);
  check_floating("all_reduce", x.meta());
  const int64_t ranks = ranks_now();
  if (ranks == 1) return x;
  const int64_t n = x.count(), part = (n + ranks - 1) / ranks, missing = part * ranks - n;
  Tensor flat = reshape(x, {n});
  if (missing > 0) flat = concat(std::array{flat, zeros({missing}, {x.dtype(), x.device()})}, 0);
  const Tensor sums = reshape(all_gather(reduce_scatter(reshape(flat, {ranks, part}))), {-1});
  return reshape(slice(sums, 0, 0, n), x.shape());
}

Tensor replicated(const Tensor& x) {
  check_defined("replicated", x);
  check_floating("replicated", x.meta());
  return ranks_now() == 1 ? x : apply1(replicated_op, {x});
}

Tensor summed(const Tensor& x) {
  check_defined("summed", x);
  return ranks_now() == 1 ? x : apply1(summed_op, {all_reduce(x.detach()), x});
}

extern const std::vector<const OpDef*> reduce_ops{&replicated_op, &summed_op};

}  // namespace plimsoll
