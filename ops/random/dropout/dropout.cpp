#include "ops/random/dropout/dropout.h"

#include "core/cpu/parallel.h"
#include "core/cpu/prefetch.h"
#include "core/cuda/seam/cuda_kernel.h"
#include "core/engine/apply.h"
#include "ops/common/broadcast.h"
#include "ops/common/expect.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/random/dropout/attrs.h"
#include "ops/random/dropout/draw.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(dropout_cuda);

namespace {

Metas dropout_infer(std::span<const Meta> in, const Attrs&) {
  check_floating("dropout", in[0]);
  check<DTypeError>(in[1].dtype == DType::i64, "dropout: the key must be i64: got ", in[1],
                    ". Use make_key().");
  check<ShapeError>(in[1].shape == Shape{2}, "dropout: the key must be {seed, step}: got ", in[1],
                    ". Use make_key().");
  return {in[0]};
}

void dropout_cpu(const Call& call) {
  const double p = call.attrs.as<DropoutAttrs>().p;
  const uint64_t site = call.attrs.as<DropoutAttrs>().site;
  const DropoutBits bits(p, site, call.in[1].as<int64_t>());
  visit_floating("dropout", call.out[0].dtype(), [&]<class T>() {
    using C = Compute<T>;
    const C scale = static_cast<C>(1 / (1 - p));
    const T* x = call.in[0].as<T>();
    T* y = call.out[0].as<T>();
    // Words first, then the choice: the second loop is vectorised. Runs begin where the words of a
    // block do.
    constexpr int64_t kRun = 64, kGrain = 256 * kRun;
    parallel_for(count(call.out[0].shape()), kGrain, [&](int64_t begin, int64_t end) {
      uint32_t words[kRun];
      for (int64_t at = begin; at < end; at += kRun) {
        const int64_t n = std::min(kRun, end - at);
        prefetch(x, at + kRun, kRun);
        bits.draw(at / 4, kRun, words);
#pragma omp simd
        for (int64_t k = 0; k < n; ++k) {
          const C kept = static_cast<C>(x[at + k]) * scale;
          y[at + k] = narrow<T>(bits.keeps(words[k]) ? kept : C(0));
        }
      }
    });
  });
}

std::vector<Tensor> dropout_vjp(const Backward& b) {
  const auto& [p, site] = b.attrs<DropoutAttrs>();
  return {dropout(b.grad(), p, b.input(1), site), Tensor()};
}

constexpr OpDef dropout_op{.name = "dropout",
                           .infer = dropout_infer,
                           .cpu = dropout_cpu,
                           .cuda = dropout_cuda,
                           .vjp = {.rule = dropout_vjp, .inputs = bits(1)},
                           .inplace = 0};

}  // namespace

Tensor dropout(const Tensor& x, double p, const Tensor& key, uint64_t site) {
  check_defined("dropout", x);
  check<ValueError>(p >= 0 && p < 1, "dropout: the share to drop is out of range: ", p,
                    ". Use 0 <= p < 1.");
  if (p == 0) return x;
  return apply1(dropout_op, {contiguous(x), contiguous(key)}, DropoutAttrs{p, site});
}

Tensor make_key(uint64_t seed, uint64_t step, Device device) {
  const std::array key{static_cast<int64_t>(seed), static_cast<int64_t>(step)};
  return Tensor::of(std::span<const int64_t>(key), {2}, device);
}

extern const std::vector<const OpDef*> dropout_ops{&dropout_op};

}  // namespace plimsoll
