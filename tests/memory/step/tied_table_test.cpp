// A table that is looked up and is the head too: its gradient is made in one place, by adding to
// what the head sent, with the bits of two gradients that are added.
#include <gtest/gtest.h>

#include <array>

#include "autograd/autocast.h"
#include "autograd/gradients.h"
#include "memory/pool/pooled_allocator.h"
#include "memory/step/step.h"
#include "ops/ops.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

constexpr int64_t kRows = 300, kWidth = 40;

Tensor loss_of(const Tensor& looked_up, const Tensor& head, const Tensor& ids) {
  return cross_entropy(linear(tanh(embedding(looked_up, ids)), head), ids);
}

TEST(TiedTable, ItsGradientHasTheBitsOfTwo) {
  const Tensor table = normal({kRows, kWidth}, 0, 1, 7).require_grad();
  const Tensor other = table.detach().require_grad();
  const Tensor ids = Tensor::of<int64_t>({3, 5, 3, 299, 0, 3}, {6});
  const std::vector<Tensor> two = gradients(loss_of(other, table, ids), std::array{table, other});
  const Tensor sum = add(two[0], two[1]);
  EXPECT_TRUE(same_bits(gradients(loss_of(table, table, ids), std::array{table})[0], sum));
  Step step(
      [&](const Tensor& x) { return gradients(loss_of(table, table, x), std::array{table})[0]; });
  EXPECT_TRUE(same_bits(step(ids), sum));
}

TEST(TiedTable, TheTapeGoesOnThroughIt) {  // what is recorded is added by an op with a gradient
  const Tensor table = ones({5, 3}).require_grad();
  const Tensor ids = Tensor::of<int64_t>({3, 4, 3}, {3});
  const Tensor looked_up = sum(embedding(table, ids));  // first, so that its gradient comes last
  const Tensor loss = add(looked_up, sum(mul(table, table)));
  const Tensor grad = gradients(loss, std::array{table}, {.create_graph = true})[0];
  const Tensor expected =
      add(mul(table, full({}, 2)), gradients(sum(embedding(table, ids)), std::array{table})[0]);
  EXPECT_TRUE(same_bits(grad.detach(), expected.detach()));
  EXPECT_TRUE(same_bits(gradients(sum(grad), std::array{table})[0], full({5, 3}, 2)));
}

TEST(TiedTable, TwoGradientsAreNeverThere) {
  const Tensor table = normal({kRows, kWidth}, 0, 1, 7).require_grad();
  for (const Precision precision : {Precision::f32, Precision::bf16, Precision::f16}) {
    Step step([&](const Tensor& ids) {
      const Autocast scope(precision);
      return gradients(loss_of(table, table, ids), std::array{table})[0];
    });
    const Plan& plan = step.plan({{{6}, DType::i64}});
    const int64_t bytes = kRows * kWidth * int64_t{sizeof(float)};
    EXPECT_LT(plan.arena_bytes, 2 * bytes);
    EXPECT_GE(plan.arena_bytes, bytes);
  }
}

TEST(TiedTable, RowsAreCastAndNotTheTable) {
  const Tensor table = normal({kRows, kWidth}, 0, 1, 7).require_grad();
  const Tensor ids = Tensor::of<int64_t>({3, 5, 3, 299, 0, 3}, {6});
  const Autocast scope(Precision::bf16);
  const Tensor rows = embedding(table, ids);
  EXPECT_TRUE(same_bits(rows.detach(), embedding(cast(table.detach(), DType::bf16), ids)));
  // A row that is looked up three times: in 16 bits 1 + 1/256 would be 1.
  const Tensor weights = Tensor::of<float>({1, 1, 1.0F / 256, 1, 1, 1.0F / 512}, {6, 1});
  const Tensor grad = gradients(sum(mul(cast(rows, DType::f32), weights)), std::array{table})[0];
  EXPECT_EQ(grad.to_vector<float>()[3 * kWidth], 1 + 1.0F / 256 + 1.0F / 512);
}

}  // namespace
}  // namespace plimsoll
