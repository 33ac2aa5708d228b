#include "ops/random/dropout/dropout.h"

#include "core/base/philox.h"
#include "ops/random/full/full.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

std::vector<Array> dropped(const std::vector<Array>& in, double p, uint64_t site) {
  const auto seed = static_cast<uint64_t>(in[1][0]), step = static_cast<uint64_t>(in[1][1]);
  const auto mixed = random_words(seed, /*"drop"*/ 0x64726f70, site);
  Array y = in[0];
  for (int64_t i = 0; i < count(y.shape); ++i) {
    const auto words =
        random_words((uint64_t{mixed[0]} << 32) + mixed[1], step, static_cast<uint64_t>(i) / 4);
    const double u = static_cast<double>(unit_float(words[static_cast<size_t>(i % 4)]));
    y[i] = u >= p ? y[i] / (1 - p) : 0;
  }
  return {y};
}

OpCase drops(const char* name, Shape shape, double p, uint64_t site = 1) {
  return {.name = name,
          .inputs = {real(shape), given_index({2}, {42, 7})},
          .call = [=](auto in) { return std::vector{dropout(in[0], p, in[1], site)}; },
          .reference = [=](const std::vector<Array>& in) { return dropped(in, p, site); }};
}

}  // namespace

OpCases dropout_cases() {
  OpCases cases{
      .good = {drops("tenth", {5, 7}, 0.1), drops("half", {4, 4}, 0.5), drops("most", {40}, 0.9),
               drops("none", {5}, 0), drops("scalar", {}, 0.5), drops("one", {1, 1}, 0.3),
               drops("three", {3}, 0.5), drops("empty", {3, 0}, 0.5),
               drops("site", {5, 7}, 0.5, ~uint64_t{0})},
      .bad = {
          {"undefined", [] { dropout(Tensor(), 0, make_key(1, 1), 0); },
           "dropout: the tensor is undefined. Pass one that was computed."},
          {"p is 1", [] { dropout(ones({2}), 1, make_key(1, 1), 0); },
           "dropout: the share to drop is out of range: 1. Use 0 <= p < 1."},
          {"p below 0", [] { dropout(ones({2}), -0.5, make_key(1, 1), 0); },
           "dropout: the share to drop is out of range: -0.5. Use 0 <= p < 1."},
          {"p is NaN", [] { dropout(ones({2}), std::nan(""), make_key(1, 1), 0); },
           "dropout: the share to drop is out of range: nan. Use 0 <= p < 1."},
          {"key type", [] { dropout(ones({2}), 0.5, ones({2}), 0); },
           "dropout: the key must be i64: got f32 [2] on cpu. Use make_key()."},
          {"key shape", [] { dropout(ones({2}), 0.5, ones({3}, {.dtype = DType::i64}), 0); },
           "dropout: the key must be {seed, step}: got i64 [3] on cpu. Use make_key()."},
          {"integers", [] { dropout(ones({2}, {.dtype = DType::i32}), 0.5, make_key(1, 1), 0); },
           "dropout: a floating type is needed: got i32 [2] on cpu. Cast it first."}}};
  OpCase many = drops("many_pieces", {40001}, 0.25);
  many.differentiable = false;  // finite differences would visit every element
  cases.good.push_back(many);
  return cases;
}

}  // namespace plimsoll
