#include "ops/loss/kl_div/kl_div.h"

#include "autograd/gradients.h"
#include "ops/random/full/full.h"
#include "tests/support/loss_reference.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

double divergence(double x, double t) { return t == 0 ? 0 : t * (std::log(t) - x); }
double log_divergence(double x, double t) { return std::exp(t) == 0 ? 0 : std::exp(t) * (t - x); }

OpCase losses(const char* name, InputSpec x, InputSpec t, bool log_target) {
  return {
      .name = name,
      .inputs = {x, t},
      .call =
          [=](auto in) {
            const auto loss = [&](Reduction reduction) {
              return kl_div(in[0], in[1], {.log_target = log_target, .reduction = reduction});
            };
            return std::vector{loss(Reduction::mean), loss(Reduction::sum), loss(Reduction::none)};
          },
      .reference =
          [=](const std::vector<Array>& in) {
            return reduced_losses(in, log_target ? log_divergence : divergence);
          }};
}

// Infinities, and a mean of NaN, have no slope to compare with.
OpCase undifferentiated(const char* name, InputSpec x, InputSpec t, bool log_target) {
  OpCase c = losses(name, x, t, log_target);
  c.differentiable = false;
  return c;
}

// At a target of 0: -t for the prediction, and what the logarithm's slope makes of the target.
OpCase slopes_at_zero() {
  return {.name = "slopes_at_zero",
          .inputs = {given({2}, {-1, -kInf})},
          .call =
              [](auto in) {
                const Placement like{in[0].dtype(), in[0].device()};
                const std::array leaves{in[0].detach().require_grad(),
                                        full({2}, 0, like).require_grad(),
                                        full({2}, -kInf, like).require_grad()};
                const std::array plain{leaves[0], leaves[1]}, logs{leaves[0], leaves[2]};
                auto a =
                    gradients(kl_div(leaves[0], leaves[1], {.reduction = Reduction::sum}), plain);
                auto b = gradients(
                    kl_div(leaves[0], leaves[2], {.log_target = true, .reduction = Reduction::sum}),
                    logs);
                return std::vector{a[0], a[1], b[0], b[1]};
              },
          .reference =
              [](auto) {
                std::vector<Array> d(4, Array({2}));
                d[1].values = {-kInf, kNaN};  // -infinity against log_p = -infinity is anything
                return d;
              },
          .differentiable = false};
}

}  // namespace

OpCases kl_div_cases() {
  return {
      .good = {losses("matrix", real({4, 5}, -3, 0), real({4, 5}, 0.1, 1), false),
               losses("scalar", real({}, -3, 0), real({}, 0.1, 1), false),
               undifferentiated("empty", real({0, 3}), real({0, 3}), false),
               losses("log_matrix", real({4, 5}, -3, 0), real({4, 5}, -3, 0), true),
               undifferentiated("log_empty", real({0, 3}), real({0, 3}), true),
               undifferentiated("zeros", given({4}, {-1, -kInf, -2, -kInf}),
                                given({4}, {0, 0, 1, 0.5}), false),
               undifferentiated("log_zeros", given({4}, {-1, -kInf, -2, kNaN}),
                                given({4}, {-kInf, -kInf, 0, -1}), true),
               slopes_at_zero()},
      .bad = {{"shapes",
               [] {
                 kl_div(ones({3}), ones({3, 1}));
               },
               "kl_div: the shapes differ: [3] and [3, 1]. Give one target for each prediction."},
              {"types",
               [] { kl_div(ones({2}), ones({2}, {.dtype = DType::f64}), {.log_target = true}); },
               "kl_div_log: the types differ: f32 and f64. Cast one of them."}}};
}

}  // namespace plimsoll
