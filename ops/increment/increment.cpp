#include "ops/increment/increment.h"

#include "ops/update.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(increment_cuda);

namespace {

Metas increment_infer(std::span<const Meta> in, const Attrs&) {
  check_counter("increment", in[0]);
  if (in.size() > 1) check_skip("increment", in[1]);
  return {};
}

void increment_cpu(const Call& call) {
  if (call.in.size() == 1 || !*call.in[1].as<bool>()) ++*call.in[0].as<int64_t>();
}

constexpr OpDef increment_op{.name = "increment",
                             .infer = increment_infer,
                             .cpu = increment_cpu,
                             .cuda = increment_cuda,
                             .mutates = bits(0)};

}  // namespace

void increment(const Tensor& counter, const Tensor& skip) {
  if (skip.defined())
    apply(increment_op, {counter, skip});
  else
    apply(increment_op, {counter});
}

extern const std::vector<const OpDef*> increment_ops;
const std::vector<const OpDef*> increment_ops{&increment_op};

}  // namespace plimsoll
