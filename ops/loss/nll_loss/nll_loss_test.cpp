#include "ops/loss/nll_loss/nll_loss.h"

#include "ops/pointwise/arithmetic/arithmetic.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/random/full/full.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

constexpr Reduction kAll[] = {Reduction::mean, Reduction::sum, Reduction::none};
const std::vector<double> kUneven = {2, 8, 4, 1, 16, 0, 12};  // in quarters

std::vector<Array> reference(const Array& x, const Array& labels, int64_t ignore_index,
                             const std::vector<double>& weights) {
  const int64_t classes = x.shape.back();
  Array mean, sum, none(labels.shape);
  double total = 0;
  for (int64_t row = 0; row < count(labels.shape); ++row) {
    const auto label = static_cast<int64_t>(labels[row]);
    if (label == ignore_index) continue;
    const double w = weights.empty() ? 1 : weights[static_cast<size_t>(label)] / 4;
    none[row] = -w * x[row * classes + label];
    sum[0] += none[row];
    total += w;
  }
  mean[0] = sum[0] / total;
  return {mean, sum, none};
}

OpCase rows(const char* name, InputSpec log_p, InputSpec labels, int64_t ignore_index = -100,
            std::vector<double> weights = {}) {
  std::vector<InputSpec> inputs{log_p, labels};
  if (!weights.empty())
    inputs.push_back(given_index({static_cast<int64_t>(weights.size())}, weights));
  return {.name = name,
          .inputs = inputs,
          .call =
              [=](auto in) {
                const Tensor weight = in.size() == 3 ? cast(in[2], DType::f64) / 4 : Tensor();
                std::vector<Tensor> losses;
                for (const Reduction reduction : kAll)
                  losses.push_back(nll_loss(
                      in[0], in[1],
                      {.weight = weight, .ignore_index = ignore_index, .reduction = reduction}));
                return losses;
              },
          .reference =
              [=](const std::vector<Array>& in) {
                return reference(in[0], in[1], ignore_index, weights);
              }};
}

// A NaN has no slope to compare with.
OpCase undifferentiated(OpCase c) {
  c.differentiable = false;
  return c;
}

Tensor labels(std::initializer_list<int64_t> values) {
  return Tensor::of<int64_t>(values, {static_cast<int64_t>(values.size())});
}

}  // namespace

OpCases nll_loss_cases() {
  const InputSpec x = real({5, 7}, -4, 0);
  return {
      .good = {rows("rows", x, index({5}, 7)),
               rows("three_axes", real({2, 3, 4}, -4, 0), index({2, 3}, 4)),
               rows("one_row", real({4}, -4, 0), index({}, 4)),
               rows("weights", x, index({5}, 7), -100, kUneven),
               rows("weights_ignored", x, given_index({5}, {0, 3, 4, 3, 1}), 3, kUneven),
               rows("ignored", x, given_index({5}, {2, -100, 0, -100, 6})),
               undifferentiated(rows("all_ignored", real({2, 3}), given_index({2}, {-100, -100}))),
               undifferentiated(rows("weights_of_zero", real({2, 7}, -4, 0),
                                     given_index({2}, {5, 5}), -100, kUneven)),
               undifferentiated(rows("no_rows", real({0, 3}), given_index({0}, {}))),
               undifferentiated(rows("many_rows", real({4099, 3}, -4, 0), index({4099}, 3))),
               undifferentiated(rows("impossible", given({2, 2}, {-kInf, 0, 0, -kInf}),
                                     given_index({2}, {0, 0})))},
      .bad = {
          {"above",
           [] {
             nll_loss(ones({2, 3}), labels({0, 3}));
           },
           "nll_loss: a label is out of range: 3 at position 1 for 3 classes. Use labels from "
           "0 and below 3, or -100 for rows to leave out."},
          {"shape",
           [] {
             nll_loss(ones({2, 3}), labels({0, 1, 2}));
           },
           "nll_loss: the labels do not fit: [3] for log-probabilities [2, 3]. Give one label "
           "for each row of the last axis."},
          {"label_type",
           [] {
             nll_loss(ones({2, 3}), ones({2}));
           },
           "nll_loss: the labels are not i64: f32 [2] on cpu. Cast them first."},
          {"type",
           [] {
             nll_loss(labels({0, 1}), labels({0, 1}));
           },
           "nll_loss: the log-probabilities are not of a floating type: i64 [2] on cpu. Cast them "
           "first."},
          {"weights",
           [] {
             nll_loss(ones({2, 3}), labels({0, 1}), {.weight = ones({2})});
           },
           "nll_loss: the weights do not fit: [2] for 3 classes. Give one weight for each "
           "class."}}};
}

}  // namespace plimsoll
