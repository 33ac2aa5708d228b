// One step of an optimizer: rate, step, then all parameters, all gradients, all states.
#include <algorithm>
#include <cmath>

#include "tests/foreign/onnx/cases.h"

namespace plimsoll::onnx {
namespace {

// The tensors of kind k (0: parameters, 1: gradients, 2 and 3: states) of n parameters.
Tensor copy_of(const OpCall& c, size_t k, size_t n, size_t i) { return clone(c[2 + k * n + i]); }

Tensor counter(int64_t step) { return Tensor::of<int64_t>({step}, {}); }

// Calls update(param, grad, states) for each parameter; results are all new parameters, then all
// new states.
template <size_t states, class Update>
std::vector<Tensor> for_each_parameter(const OpCall& c, Update update) {
  const size_t n = (c.in.size() - 2) / (2 + states);
  std::vector<Tensor> out((1 + states) * n);
  for (size_t i = 0; i < n; ++i) {
    out[i] = copy_of(c, 0, n, i);
    std::array<Tensor, states> state;
    for (size_t s = 0; s < states; ++s) out[(1 + s) * n + i] = state[s] = copy_of(c, 2 + s, n, i);
    update(out[i], copy_of(c, 1, n, i), state);
  }
  return out;
}

// V' = alpha V + beta G, with beta = 1 while the step is 0. The engine's first step drops V, which
// ONNX's does not: it is always told a later one.
std::vector<Tensor> momentum(const OpCall& c) {
  const std::string mode = c.node.text("mode", "standard");
  check<Unsupported>(mode == "standard" || mode == "nesterov", "mode = ", mode);
  const double beta = c.node.real("beta", 1);
  const SgdUpdate options{.momentum = c.node.real("alpha", 0),
                          .damping = c.integer(1, 0) > 0 ? 1 - beta : 0,
                          .nesterov = mode == "nesterov",
                          .weight_decay = c.node.real("norm_coefficient", 0)};
  check<Unsupported>(!options.nesterov || options.damping == 0, "nesterov with beta = ", beta);
  return for_each_parameter<1>(c, [&](const Tensor& x, const Tensor& g, const auto& state) {
    sgd_update(x, g, state[0], counter(2), c[0], options);
  });
}

std::vector<Tensor> adagrad(const OpCall& c) {
  const AdagradUpdate options{.lr_decay = c.node.real("decay_factor", 0),
                              .eps = c.node.real("epsilon", 0),
                              .weight_decay = c.node.real("norm_coefficient", 0)};
  return for_each_parameter<1>(c, [&](const Tensor& x, const Tensor& g, const auto& state) {
    adagrad_update(x, g, state[0], counter(c.integer(1, 0) + 1), c[0], options);
  });
}

// ONNX adds epsilon to the root before its bias is corrected, the engine after; and its step 0,
// unlike the engine's step 1, corrects nothing, which the rate makes up for.
std::vector<Tensor> adam(const OpCall& c) {
  const int64_t step = std::max<int64_t>(c.integer(1, 0), 1);
  const double beta1 = c.node.real("alpha", 0.9), beta2 = c.node.real("beta", 0.999);
  const double correction = std::sqrt(1 - std::pow(beta2, static_cast<double>(step)));
  const Tensor rate = c.integer(1, 0) > 0 ? c[0] : c[0] * ((1 - beta1) / correction);
  const AdamUpdate options{.beta1 = beta1,
                           .beta2 = beta2,
                           .eps = c.node.real("epsilon", 0) / correction,
                           .weight_decay = c.node.real("norm_coefficient", 0)};
  const double kept = 1 - c.node.real("norm_coefficient_post", 0);
  std::vector<Tensor> out =
      for_each_parameter<2>(c, [&](const Tensor& x, const Tensor& g, const auto& state) {
        adam_update(x, g, state[0], state[1], counter(step), rate, options);
      });
  for (size_t i = 0; i < out.size() / 3; ++i) out[i] = out[i] * kept;
  return out;
}

}  // namespace

Ops optimizer_ops() { return {{"Momentum", momentum}, {"Adagrad", adagrad}, {"Adam", adam}}; }

}  // namespace plimsoll::onnx
