// Chapter 3: gradients against finite differences, and what an activation function costs in bytes
// by what its gradient reads.
#include <cstdio>
#include <memory>

#include "autograd/gradcheck.h"
#include "examples/tour/net.h"
#include "examples/tour/tour.h"
#include "memory/pool/pooled_allocator.h"
#include "ops/matmul/linear/linear.h"
#include "ops/pointwise/activations/activations.h"
#include "ops/pointwise/math/math.h"

namespace plimsoll::tour {
namespace {

using Function = Tensor (*)(const Tensor&);

struct Activation {
  const char* name;
  Function f;
};

// Bytes that a forward pass leaves behind for linear(f(linear(x))), besides x and the weights.
int64_t kept_bytes(Function f) {
  const auto pool = std::make_shared<PooledAllocator>(host_provider());
  const AllocatorScope scope(pool);
  const Tensor x = normal({1024, kWidth}, 0, 1, 1);
  const Tensor w1 = normal({kWidth, kWidth}, 0, 0.1, 2).require_grad();
  const Tensor w2 = normal({1, kWidth}, 0, 0.1, 3).require_grad();
  const int64_t before = pool->stats().in_use;
  const Tensor y = linear(f(linear(x, w1)), w2);  // [1024, 256] -> [1024, 1]
  return pool->stats().in_use - before - block_bytes(bytes_of(y.meta()));
}

}  // namespace

void print_gradient() {
  const Activation all[] = {{"relu", relu},
                            {"tanh", [](const Tensor& x) { return tanh(x); }},
                            {"sigmoid", [](const Tensor& x) { return sigmoid(x); }},
                            {"gelu", [](const Tensor& x) { return gelu(x); }},
                            {"silu", [](const Tensor& x) { return silu(x); }}};
  std::printf("          finite differences   its gradient reads   kept for two layers\n");
  for (const auto& [name, f] : all) {
    const Tensor x = normal({5, 7}, 0, 1, 4, {.dtype = DType::f64});
    const auto function = [f = f](std::span<const Tensor> in) { return std::vector{f(in[0])}; };
    const bool agrees = gradcheck(function, std::array{x}).ok;
    const Tensor y = f(x.require_grad());
    const bool reads_input = y.edge().node->in[0].storage != nullptr;
    std::printf("%-9s %-20s %-20s %8.1f KiB\n", name, agrees ? "agree to 1e-6" : "differ",
                reads_input ? "its input" : "its output", kib(kept_bytes(f)));
  }
}

}  // namespace plimsoll::tour
