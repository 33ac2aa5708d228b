#include "nn/decoder/lora.h"

#include <algorithm>
#include <cmath>

#include "ops/matmul/matmul/matmul.h"
#include "ops/pointwise/arithmetic/arithmetic.h"

namespace plimsoll::nn {
namespace {

int64_t checked_rank(int64_t in, int64_t out, int64_t rank) {
  check<ValueError>(rank >= 1 && rank <= std::min(in, out), "lora: the rank is not 1 to ",
                    std::min(in, out), ": ", rank, " for a matrix of ", out, " x ", in,
                    ". Use a smaller one.");
  return rank;
}

Initializer zero(const Initializer& init) {
  return {.seed = init.seed, .placement = init.placement, .draws = false};
}

}  // namespace

double LoraOptions::scale() const {
  const auto r = static_cast<double>(rank);
  return alpha / (rank_stabilised ? std::sqrt(r) : r);
}

bool LoraOptions::adapts(const std::string& name) const {
  return std::ranges::any_of(targets, [&](const std::string& target) {
    return target == "all-linear" ? name != "lm_head"
                                  : name == target || name.ends_with("." + target);
  });
}

Lora::Lora(int64_t in, int64_t out, const LoraOptions& options, Initializer& init)
    : scale_(options.scale()),
      dropout_(add<Dropout>("dropout", options.dropout, init)),
      a_(add<Linear>("lora_A", in, checked_rank(in, out, options.rank), init,
                     LinearOptions{.bias = false})),
      b_([&]() -> const Linear& {
        Initializer nothing = zero(init);
        return add<Linear>("lora_B", options.rank, out, nothing, LinearOptions{.bias = false});
      }()) {}

Tensor Lora::forward(const Tensor& x, const Mode& mode) const {
  return b_(a_(dropout_(x, mode), mode), mode) * scale_;
}

Tensor Lora::matrix() const { return matmul(b_.weight(), a_.weight()) * scale_; }

}  // namespace plimsoll::nn
