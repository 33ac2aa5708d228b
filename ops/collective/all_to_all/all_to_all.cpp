#include "ops/collective/all_to_all/all_to_all.h"

#include "ops/collective/common/exchange.h"
#include "ops/common/expect.h"
#include "ops/pointwise/copy/copy.h"

namespace plimsoll {
namespace {

using collective::Exchange;
using Moves = collective::Moves<Collective::Kind::all_to_all>;

constexpr const char* kName = "all_to_all";

Metas infer(std::span<const Meta> in, const Attrs& attrs) {
  collective::check_parts(kName, in[0], attrs.as<Exchange>().ranks);
  return {in[0]};
}

std::vector<Tensor> vjp(const Backward& b) { return {all_to_all(b.grad())}; }

constexpr Moves::Halves halves("start_all_to_all", "wait_all_to_all");
constexpr OpDef all_to_all_op{.name = kName,
                              .infer = infer,
                              .cpu = Moves::run,
                              .cuda = Moves::run,
                              .vjp = {vjp},
                              .collective = &halves.collective};

}  // namespace

Tensor all_to_all(const Tensor& x) {
  check_defined(kName, x);
  const int64_t ranks = ranks_now();
  collective::check_parts(kName, x.meta(), ranks);
  return ranks == 1 ? x : apply1(all_to_all_op, {contiguous(x)}, Exchange{ranks});
}

extern const std::vector<const OpDef*> all_to_all_ops{&all_to_all_op};

}  // namespace plimsoll
