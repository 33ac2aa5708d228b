#include "ops/collective/broadcast/broadcast.h"

#include <cstring>

#include "core/cuda/seam/cuda.h"
#include "core/cuda/seam/cuda_kernel.h"
#include "ops/collective/common/exchange.h"
#include "ops/collective/reduce/reduce.h"
#include "ops/common/expect.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/random/full/attrs.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(full_cuda);

namespace {

constexpr const char* kName = "broadcast";

struct Root : collective::Exchange {
  int64_t root = 0;
  bool operator==(const Root&) const = default;
};

Ranks& ranks_of(const char* op, const Call& call) {
  const Attrs exchange = collective::Exchange{call.attrs.as<Root>().ranks};
  return collective::ranks_of(op, {call.in, call.out, exchange, {}});
}

void copy(const View& x, const View& y) {
  copy_bytes(y.data, y.meta.device, x.data, x.meta.device, bytes_of(x.meta));
}

void run(const Call& call) {
  const View& y = call.out[0];
  copy(call.in[0], y);
  ranks_of(kName, call)
      .move({Collective::Kind::broadcast, nullptr, y.data, bytes_of(y.meta),
             call.attrs.as<Root>().root, y.meta.device});
}

// x at the root, zeros elsewhere. It moves nothing, but which rank it runs on is known when it
// runs: programs are the same on all ranks.
void at_root(const Call& call) {
  const View &x = call.in[0], &y = call.out[0];
  if (ranks_of("at_root", call).rank() == call.attrs.as<Root>().root)
    copy(x, y);
  else if (y.meta.device == Device::cuda)
    full_cuda({{}, call.out, FullAttrs{y.meta, 0}, {}});
  else
    std::memset(y.data, 0, static_cast<size_t>(bytes_of(y.meta)));
}

constexpr OpDef at_root_op{.name = "at_root",
                           .infer = same_as_input,
                           .cpu = at_root,
                           .cuda = at_root,
                           .collective = &collective::whole};

std::vector<Tensor> vjp(const Backward& b) {
  return {apply1(at_root_op, {all_reduce(b.grad())}, b.attrs<Root>())};
}

constexpr OpDef broadcast_op{.name = kName,
                             .infer = same_as_input,
                             .cpu = run,
                             .cuda = run,
                             .vjp = {vjp},
                             .collective = &collective::whole};

}  // namespace

Tensor broadcast(const Tensor& x, int64_t root) {
  check_defined(kName, x);
  const int64_t ranks = ranks_now();
  check<ValueError>(0 <= root && root < ranks, "broadcast: there is no rank ", root, " of ", ranks,
                    ". Count from 0.");
  return ranks == 1 ? x : apply1(broadcast_op, {contiguous(x)}, Root{{ranks}, root});
}

extern const std::vector<const OpDef*> broadcast_ops{&broadcast_op, &at_root_op};

}  // namespace plimsoll
