#include "ops/collective/all_gather/all_gather.h"

#include "ops/collective/common/exchange.h"
#include "ops/collective/reduce/reduce.h"
#include "ops/common/expect.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/shape/view/view.h"

namespace plimsoll {
namespace {

using collective::Exchange;
using Moves = collective::Moves<Collective::Kind::all_gather>;

constexpr const char* kName = "all_gather";

Metas infer(std::span<const Meta> in, const Attrs& attrs) {
  Meta out = in[0];
  out.shape = collective::with_first_axis(attrs.as<Exchange>().ranks, in[0].shape);
  return {out};
}

std::vector<Tensor> vjp(const Backward& b) { return {reduce_scatter(b.grad())}; }

constexpr Moves::Halves halves("start_all_gather", "wait_all_gather");
constexpr OpDef all_gather_op{.name = kName,
                              .infer = infer,
                              .cpu = Moves::run,
                              .vjp = vjp,
                              .talks = true,
                              .start = &halves.start,
                              .wait = &halves.wait};

}  // namespace

Tensor all_gather(const Tensor& x) {
  check_defined(kName, x);
  const int64_t ranks = ranks_now();
  if (ranks == 1) return reshape(x, collective::with_first_axis(1, x.shape()));
  return apply1(all_gather_op, {contiguous(x)}, Exchange{ranks});
}

extern const std::vector<const OpDef*> all_gather_ops{&all_gather_op};

}  // namespace plimsoll
