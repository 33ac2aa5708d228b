#include "ops/loss/cross_entropy/cross_entropy.h"

#include <array>

#include "autograd/gradients.h"
#include "ops/pointwise/arithmetic/arithmetic.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/random/full/full.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

constexpr Reduction kAll[] = {Reduction::mean, Reduction::sum, Reduction::none};
const std::vector<double> kUneven = {2, 8, 4, 1, 16, 0, 12};  // in quarters

struct Options {
  int64_t ignore_index = -100;
  double smoothing = 0;
  std::vector<double> weights = {};  // in quarters
};

// Each weight times the label's share times -log p: the loss by its definition.
std::vector<Array> reference(const Array& x, const Array& labels, const Options& options) {
  const int64_t classes = x.shape.back();
  const auto weight = [&](int64_t c) {
    return options.weights.empty() ? 1 : options.weights[static_cast<size_t>(c)] / 4;
  };
  Array mean, sum, none(labels.shape);
  double total = 0;
  for (int64_t row = 0; row < count(labels.shape); ++row) {
    const auto label = static_cast<int64_t>(labels[row]);
    if (label == options.ignore_index) continue;
    double highest = x[row * classes], z = 0;
    for (int64_t c = 0; c < classes; ++c) highest = std::max(highest, x[row * classes + c]);
    for (int64_t c = 0; c < classes; ++c) z += std::exp(x[row * classes + c] - highest);
    for (int64_t c = 0; c < classes; ++c) {
      const double share = options.smoothing / static_cast<double>(classes) +
                           (c == label ? 1 - options.smoothing : 0);
      if (share != 0)
        none[row] += share * weight(c) * (std::log(z) + highest - x[row * classes + c]);
    }
    sum[0] += none[row];
    total += weight(label);
  }
  mean[0] = sum[0] / total;
  return {mean, sum, none};
}

// Under all three reductions.
OpCase rows(const char* name, InputSpec logits, InputSpec labels, Options options = {}) {
  std::vector<InputSpec> inputs{logits, labels};
  if (!options.weights.empty())
    inputs.push_back(given_index({static_cast<int64_t>(options.weights.size())}, options.weights));
  return {
      .name = name,
      .inputs = inputs,
      .call =
          [=](auto in) {
            const Tensor weight = in.size() == 3 ? cast(in[2], DType::f64) / 4 : Tensor();
            std::vector<Tensor> losses;
            for (const Reduction reduction : kAll)
              losses.push_back(cross_entropy(in[0], in[1],
                                             {.weight = weight,
                                              .ignore_index = options.ignore_index,
                                              .label_smoothing = options.smoothing,
                                              .reduction = reduction}));
            return losses;
          },
      .reference = [=](const std::vector<Array>& in) { return reference(in[0], in[1], options); }};
}

// A NaN has no slope to compare with.
OpCase nothing_counted(const char* name, InputSpec logits, InputSpec labels) {
  OpCase c = rows(name, logits, labels);
  c.differentiable = false;
  return c;
}

// Enough rows for several partial losses.
OpCase several_pieces() {
  OpCase c = rows("several_pieces", real({4}), index({1030}, 4));
  c.call = [](auto in) { return std::vector{cross_entropy(in[0], in[1])}; };
  c.reference = [](auto in) { return std::vector{reference(in[0], in[1], {})[0]}; };
  return shifted(c, {1030, 4});
}

// Logits without any digits for log(3), and the gradient of the sum of the losses.
OpCase huge() {
  return {
      .name = "huge",
      .inputs = {given({2, 3}, {1e30, 1e30, 1e30, -1e30, -1e30, -1e30}), given_index({2}, {0, 2})},
      .call =
          [](auto in) {
            const Tensor x = in[0].detach().require_grad();
            const Tensor loss = cross_entropy(x, in[1], {.reduction = Reduction::sum});
            return std::vector{loss.detach(), gradients(loss, std::array{x}).front()};
          },
      .reference =
          [](const std::vector<Array>&) {
            const double third = 1.0 / 3;
            Array loss, dx({2, 3});
            loss[0] = 2 * std::log(3.0);
            dx.values = {third - 1, third, third, third, third, third - 1};
            return std::vector{loss, dx};
          },
      .differentiable = false,
      .dtypes = {DType::f64, DType::f32, DType::bf16}};
}

Tensor labels(std::initializer_list<int64_t> values) {
  return Tensor::of<int64_t>(values, {static_cast<int64_t>(values.size())});
}

}  // namespace

OpCases cross_entropy_cases() {
  return {
      .good = {rows("rows", real({5, 7}, -3, 3), index({5}, 7)),
               rows("three_axes", real({2, 3, 10}, -3, 3), index({2, 3}, 10)),
               rows("one_row", real({9}, -3, 3), index({}, 9)),
               rows("ignored", real({4, 3}), given_index({4}, {2, -100, 0, -100})),
               rows("ignored_class", real({4, 3}), given_index({4}, {2, 1, 0, 1}),
                    {.ignore_index = 1}),
               rows("weights", real({5, 7}, -3, 3), index({5}, 7), {.weights = kUneven}),
               rows("smoothing", real({5, 7}, -3, 3), index({5}, 7), {.smoothing = 0.1}),
               rows("smoothing_all", real({5, 7}, -3, 3), index({5}, 7), {.smoothing = 1}),
               rows("smoothing_large", real({3, 5}, 500, 510), index({3}, 5), {.smoothing = 0.5}),
               rows("smoothing_weights", real({2, 3, 7}, -3, 3),
                    given_index({2, 3}, {0, 3, 4, 3, 1, 6}),
                    {.ignore_index = 3, .smoothing = 0.3, .weights = kUneven}),
               rows("two_classes", real({3, 2}), index({3}, 2)),
               rows("many_classes", real({3, 67}, -5, 5), index({3}, 67)), several_pieces(), huge(),
               rows("large", real({3, 5}, 500, 510), index({3}, 5)),
               nothing_counted("all_ignored", real({2, 3}), given_index({2}, {-100, -100})),
               nothing_counted("no_rows", real({0, 3}), given_index({0}, {}))},
      .bad = {
          {"above",
           [] {
             cross_entropy(ones({2, 3}), labels({0, 3}));
           },
           "cross_entropy: a label is out of range: 3 at position 1 for 3 classes. Use labels from "
           "0 and below 3, or -100 for rows to leave out."},
          {"below",
           [] {
             cross_entropy(ones({2, 3}), labels({-1, 0}), {.ignore_index = 7});
           },
           "cross_entropy: a label is out of range: -1 at position 0 for 3 classes. Use labels "
           "from 0 and below 3, or 7 for rows to leave out."},
          {"shape",
           [] {
             cross_entropy(ones({2, 3}), labels({0, 1, 2}));
           },
           "cross_entropy: the labels do not fit: [3] for logits [2, 3]. Give one label for each "
           "row of the last axis."},
          {"weights",
           [] {
             cross_entropy(ones({2, 3}), labels({0, 1}), {.weight = ones({2})});
           },
           "cross_entropy: the weights do not fit: [2] for 3 classes. Give one weight for each "
           "class."},
          {"smoothing",
           [] {
             cross_entropy(ones({2, 3}), labels({0, 1}), {.label_smoothing = 1.5});
           },
           "cross_entropy: label_smoothing is not from 0 to 1: 1.5. Use 0.1 or so."},
          {"label_type",
           [] {
             cross_entropy(ones({2, 3}), ones({2}));
           },
           "cross_entropy: the labels are not i64: f32 [2] on cpu. Cast them first."},
          {"logits_type",
           [] {
             cross_entropy(labels({0, 1}), labels({0, 1}));
           },
           "cross_entropy: the logits are not of a floating type: i64 [2] on cpu. Cast them "
           "first."}}};
}

}  // namespace plimsoll
