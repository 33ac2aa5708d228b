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
                              .cuda = Moves::run,
                              .vjp = {vjp},
                              .collective = &halves.collective};

constexpr const char* kInPlace = "all_gather_in_place";

Metas in_place_infer(std::span<const Meta> in, const Attrs& attrs) {
  collective::check_parts(kInPlace, in[0], attrs.as<Exchange>().ranks);
  return {};
}

void in_place(const Call& call) {
  Ranks& ranks = collective::ranks_of(kInPlace, call);
  auto* const parts = static_cast<std::byte*>(call.in[0].data);
  const int64_t bytes = bytes_of(call.in[0].meta) / ranks.size();
  ranks.move({Collective::Kind::all_gather, parts + ranks.rank() * bytes, parts, bytes,
              /*root=*/0, call.in[0].meta.device});
}

constexpr OpDef in_place_op{.name = kInPlace,
                            .infer = in_place_infer,
                            .cpu = in_place,
                            .cuda = in_place,
                            .mutates = bits(0),
                            .collective = &collective::whole};

}  // namespace

Tensor all_gather(const Tensor& x) {
  check_defined(kName, x);
  const int64_t ranks = ranks_now();
  if (ranks == 1) return reshape(x, collective::with_first_axis(1, x.shape()));
  return apply1(all_gather_op, {contiguous(x)}, Exchange{ranks});
}

void all_gather_in_place(const Tensor& parts) {
  check_defined(kInPlace, parts);
  const int64_t ranks = ranks_now();
  collective::check_parts(kInPlace, parts.meta(), ranks);
  if (ranks > 1) apply(in_place_op, {parts}, Exchange{ranks});
}

extern const std::vector<const OpDef*> all_gather_ops{&all_gather_op, &in_place_op};

}  // namespace plimsoll
