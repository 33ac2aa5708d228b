#include "ops/cross_entropy/cross_entropy.h"

#include "ops/arithmetic/arithmetic.h"
#include "ops/copy/copy.h"
#include "ops/full/full.h"
#include "tests/op_case.h"

namespace plimsoll {
namespace {

std::vector<Array> reference(const Array& x, const Array& labels, int64_t ignore_index) {
  const int64_t classes = x.shape.back();
  double loss = 0;
  int64_t counted = 0;
  for (int64_t row = 0; row < count(labels.shape); ++row) {
    const auto label = static_cast<int64_t>(labels[row]);
    if (label == ignore_index) continue;
    double highest = x[row * classes], total = 0;
    for (int64_t c = 0; c < classes; ++c) highest = std::max(highest, x[row * classes + c]);
    for (int64_t c = 0; c < classes; ++c) total += std::exp(x[row * classes + c] - highest);
    loss += std::log(total) + highest - x[row * classes + label];
    ++counted;
  }
  Array y;
  y[0] = loss / static_cast<double>(counted);
  return {y};
}

OpCase rows(const char* name, InputSpec logits, InputSpec labels, int64_t ignore_index = -100) {
  return {.name = name,
          .inputs = {logits, labels},
          .call = [=](auto in) { return std::vector{cross_entropy(in[0], in[1], ignore_index)}; },
          .reference =
              [=](const std::vector<Array>& in) { return reference(in[0], in[1], ignore_index); }};
}

// A NaN has no slope to compare with.
OpCase nothing_counted(const char* name, InputSpec logits, InputSpec labels) {
  OpCase c = rows(name, logits, labels);
  c.differentiable = false;
  return c;
}

// Enough rows for several partial losses. One row is real, the others are integer shifts of it: a
// finite difference for each of 4,000 elements would take minutes.
OpCase several_pieces() {
  OpCase c = rows("several_pieces", real({4}), index({1030}, 4));
  c.inputs.push_back(index({1030, 4}, 3));
  c.call = [](auto in) {
    return std::vector{cross_entropy(in[0] + cast(in[2], in[0].dtype()), in[1])};
  };
  c.reference = [](const std::vector<Array>& in) {
    Array x = in[2];
    for (int64_t e = 0; e < count(x.shape); ++e) x[e] += in[0][e % 4];
    return reference(x, in[1], -100);
  };
  return c;
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
               rows("ignored_class", real({4, 3}), given_index({4}, {2, 1, 0, 1}), 1),
               rows("two_classes", real({3, 2}), index({3}, 2)),
               rows("many_classes", real({3, 67}, -5, 5), index({3}, 67)), several_pieces(),
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
             cross_entropy(ones({2, 3}), labels({-1, 0}), 7);
           },
           "cross_entropy: a label is out of range: -1 at position 0 for 3 classes. Use labels "
           "from 0 and below 3, or 7 for rows to leave out."},
          {"shape",
           [] {
             cross_entropy(ones({2, 3}), labels({0, 1, 2}));
           },
           "cross_entropy: the labels do not fit: [3] for logits [2, 3]. Give one label for each "
           "row of the last axis."},
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
