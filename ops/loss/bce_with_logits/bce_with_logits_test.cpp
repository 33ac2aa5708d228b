#include "ops/loss/bce_with_logits/bce_with_logits.h"

#include "ops/random/full/full.h"
#include "ops/shape/view/view.h"
#include "tests/support/broadcast_reference.h"
#include "tests/support/loss_reference.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

double softplus_of(double x) { return (x > 0 ? x : 0) + std::log1p(std::exp(-std::abs(x))); }

OpCase losses(const char* name, InputSpec x, InputSpec t) {
  return {.name = name,
          .inputs = {x, t},
          .call =
              [](auto in) {
                return std::vector{bce_with_logits(in[0], in[1]),
                                   bce_with_logits(in[0], in[1], {.reduction = Reduction::sum}),
                                   bce_with_logits(in[0], in[1], {.reduction = Reduction::none})};
              },
          .reference =
              [](const std::vector<Array>& in) {
                return reduced_losses(in, [](double l, double y) {
                  return y * softplus_of(-l) + (1 - y) * softplus_of(l);
                });
              }};
}

// Inputs: logits, targets, pos_weight, weight.
OpCase weighted(const char* name, InputSpec pos_weight, InputSpec weight) {
  return {.name = name,
          .inputs = {real({4, 5}, -3, 3), real({4, 5}, 0, 1), pos_weight, weight},
          .call =
              [](auto in) {
                return std::vector{
                    bce_with_logits(in[0], in[1], {.weight = in[3], .pos_weight = in[2]}),
                    bce_with_logits(in[0], in[1], {.weight = in[3], .reduction = Reduction::sum})};
              },
          .reference =
              [](const std::vector<Array>& in) {
                const Array both = broadcast_map(in, [](const auto& v) {
                  return v[3] * (v[2] * v[1] * softplus_of(-v[0]) + (1 - v[1]) * softplus_of(v[0]));
                });
                const Array one = broadcast_map(in, [](const auto& v) {
                  return v[3] * (v[1] * softplus_of(-v[0]) + (1 - v[1]) * softplus_of(v[0]));
                });
                Array mean, sum;
                for (int64_t i = 0; i < 20; ++i) {
                  mean[0] += both[i] / 20;
                  sum[0] += one[i];
                }
                return std::vector{mean, sum};
              }};
}

// Each loss is an output of its own, or the large would hide the small. Sure and right answers,
// sure and wrong ones, with and without a weight of 1 for the positive.
OpCase magnitudes() {
  return {.name = "magnitudes",
          .inputs = {given({8}, {-80, -30, -10, 10, 30, 80, -200, 200}),
                     given({8}, {0, 0, 0, 1, 1, 1, 1, 0})},
          .call =
              [](auto in) {
                const Tensor one = ones({}, {in[0].dtype(), in[0].device()});
                const Tensor fused = bce_with_logits(in[0], in[1], {.reduction = Reduction::none});
                const Tensor composed = bce_with_logits(
                    in[0], in[1], {.pos_weight = one, .reduction = Reduction::none});
                std::vector<Tensor> each;
                for (int64_t i = 0; i < 8; ++i) {
                  each.push_back(slice(fused, 0, i, i + 1));
                  each.push_back(slice(composed, 0, i, i + 1));
                }
                return each;
              },
          .reference =
              [](const std::vector<Array>& in) {
                std::vector<Array> each(16, Array({1}));
                for (int64_t i = 0; i < 16; ++i) {
                  const double x = in[0][i / 2];
                  each[static_cast<size_t>(i)][0] = softplus_of(in[1][i / 2] == 1 ? -x : x);
                }
                return each;
              },
          .differentiable = false};
}

// Sure and wrong costs infinity, sure and right nothing; the weighted form likewise.
OpCase infinite() {
  OpCase c = magnitudes();
  c.name = "infinite";
  c.inputs = {given({8}, {kInf, kInf, -kInf, -kInf, kInf, -kInf, 3, kNaN}),
              given({8}, {0, 1, 0, 1, 0.5, 0.5, 1, 0})};
  c.reference = [](const std::vector<Array>&) {
    const double loss[] = {kInf, 0, 0, kInf, kInf, kInf, softplus_of(-3), kNaN};
    std::vector<Array> each(16, Array({1}));
    for (int64_t i = 0; i < 16; ++i) each[static_cast<size_t>(i)][0] = loss[i / 2];
    return each;
  };
  return c;
}

}  // namespace

OpCases bce_with_logits_cases() {
  OpCase empty = losses("empty", real({0, 3}), real({0, 3}));
  empty.differentiable = false;  // a mean of NaN has no slope to compare with
  return {
      .good = {losses("matrix", real({4, 5}, -4, 4), real({4, 5}, 0, 1)),
               losses("scalar", real({}), real({}, 0, 1)), empty, magnitudes(), infinite(),
               weighted("weights", real({5}, 0.5, 3), real({4, 1}, 0.5, 2)),
               weighted("scalar_weights", real({}, 0.5, 3), real({}, 0.5, 2))},
      .bad = {{"shapes",
               [] {
                 bce_with_logits(ones({3}), ones({3, 1}));
               },
               "bce_with_logits: the shapes differ: [3] and [3, 1]. Give one target for each "
               "prediction."},
              {"shapes_weighted",
               [] {
                 bce_with_logits(ones({3}), ones({3, 1}), {.pos_weight = ones({})});
               },
               "bce_with_logits: the shapes differ: [3] and [3, 1]. Give one target for each "
               "prediction."},
              {"types", [] { bce_with_logits(ones({2}), ones({2}, {.dtype = DType::i64})); },
               "bce_with_logits: the types differ: f32 and i64. Cast one of them."},
              {"weights",
               [] {
                 bce_with_logits(ones({2}), ones({2}), {.weight = ones({3, 2})});
               },
               "bce_with_logits: the weights do not fit: [3, 2] for logits [2]. Give weights that "
               "broadcast to the logits."},
              {"undefined", [] { bce_with_logits(Tensor(), ones({2})); },
               "bce_with_logits: the tensor is undefined. Pass one that was computed."}}};
}

}  // namespace plimsoll
