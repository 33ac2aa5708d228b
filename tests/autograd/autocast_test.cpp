// Autocast: what type each op's result has, casts that are shared and not kept, captures, and the
// table of docs/precision.md against the ops.
#include "autograd/autocast.h"

#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "autograd/checkpoint.h"
#include "autograd/gradients.h"
#include "autograd/no_grad.h"
#include "memory/layout/plan.h"
#include "memory/passes/dead_code.h"
#include "memory/step/step.h"
#include "ops/ops.h"
#include "tests/nn/testing.h"

namespace plimsoll {
namespace {

using nn::values;

Tensor f32(const Shape& shape, uint64_t seed) {
  return cast(nn::draw(shape, seed), DType::f32).require_grad();
}

TEST(Autocast, GivesEachOpsResultItsType) {
  const Tensor x = f32({3, 4}, 1), w = f32({5, 4}, 2), bias = f32({5}, 3);
  const Tensor labels = Tensor::of<int64_t>({0, 4, 2}, {3});
  for (const auto& [precision, low] : std::map<Precision, DType>{{Precision::f32, DType::f32},
                                                                 {Precision::bf16, DType::bf16},
                                                                 {Precision::f16, DType::f16}}) {
    const Autocast scope(precision);
    const Tensor y = linear(x, w, bias);
    EXPECT_EQ(y.dtype(), low);
    EXPECT_EQ(relu(y).dtype(), low);
    EXPECT_EQ((y + y).dtype(), low);
    EXPECT_EQ((y + bias).dtype(), DType::f32);  // the widest
    EXPECT_EQ(maximum(bias, y).dtype(), DType::f32);
    EXPECT_EQ(layer_norm(y, bias, bias).dtype(), low);  // parameters of f32
    EXPECT_EQ(softmax(y).dtype(), DType::f32);
    EXPECT_EQ(sum(y).dtype(), DType::f32);
    EXPECT_EQ(mean(y, {0}).dtype(), DType::f32);
    EXPECT_EQ(addmm(bias, x, transpose(w)).dtype(), low);
    EXPECT_EQ(embedding(w, labels).dtype(), low);
    const Tensor target = zeros({3, 5});
    EXPECT_EQ(mse_loss(y, target).dtype(), DType::f32);
    EXPECT_EQ(bce_with_logits(y, target, {.pos_weight = ones({5})}).dtype(), DType::f32);
    const Tensor loss = cross_entropy(y, labels);
    EXPECT_EQ(loss.dtype(), DType::f32);
    for (const Tensor& g : gradients(loss, std::array{x, w, bias}))
      EXPECT_EQ(g.dtype(), DType::f32);
    EXPECT_EQ(linear_cross_entropy(x, w, bias, labels, {.weight = ones({5})}).dtype(), DType::f32);
  }
}

TEST(Autocast, LeavesF64AndWholeNumbersAlone) {
  const Autocast scope(Precision::bf16);
  const Tensor x = nn::draw({3, 4}, 1), w = nn::draw({5, 4}, 2);
  EXPECT_EQ(linear(x, w).dtype(), DType::f64);
  EXPECT_EQ(softmax(x).dtype(), DType::f64);
  const Tensor counts = Tensor::of<int64_t>({1, 2}, {2});
  EXPECT_EQ((counts + counts).dtype(), DType::i64);
  EXPECT_THROW(x + ones({4}), DTypeError);  // as without autocast
}

TEST(Autocast, EndsWithItsScopeAndCanBeTurnedOffInside) {
  const Tensor x = f32({3, 4}, 1), w = f32({5, 4}, 2);
  {
    const Autocast scope(Precision::f16);
    {
      const Autocast off(Precision::f32);
      EXPECT_EQ(linear(x, w).dtype(), DType::f32);
    }
    EXPECT_EQ(linear(x, w).dtype(), DType::f16);
  }
  EXPECT_EQ(linear(x, w).dtype(), DType::f32);
}

// The casts of a function in its captured program.
int casts_in(const StepFunction& function) {
  const Program program = remove_dead(capture(function, {}));
  return static_cast<int>(std::ranges::count_if(
      program.instructions, [](const auto& i) { return std::string(i.op->name) == "cast"; }));
}

TEST(Autocast, CastsAValueOnceWhileItsCastIsHeld) {
  const Tensor x = f32({3, 4}, 1), w = f32({4, 4}, 2);
  const auto twice = [&](std::span<const Tensor>) {
    const Autocast scope(Precision::bf16);
    return std::vector{linear(linear(x, w), w)};  // x and w
  };
  EXPECT_EQ(casts_in(twice), 2);
  const auto gradient = [&](std::span<const Tensor> in) {
    const Tensor y = twice(in)[0];
    return gradients(y, std::array{w}, {.seed = cast(ones({3, 4}), DType::bf16)});
  };
  EXPECT_EQ(casts_in(gradient), 2 + 1 + 2);  // the seed's; the gradient of each use back to f32
}

TEST(Autocast, HoldsNoCastThatNobodyElseHolds) {
  const Tensor x = f32({3, 4}, 1), w = f32({4, 4}, 2);
  const NoGrad evaluation;
  const Autocast scope(Precision::bf16);
  const int64_t before = Storage::live();
  const Tensor y = linear(x, w);
  EXPECT_EQ(Storage::live(), before + 1);
}

TEST(Autocast, CastsAgainWhatWasChanged) {
  const Tensor x = f32({1, 1}, 1), w = f32({1, 1}, 2);
  const Autocast scope(Precision::bf16);
  w.write(std::span<const float>(std::array{2.0F}));
  const Tensor first = linear(x, w);  // its node holds the cast
  w.write(std::span<const float>(std::array{4.0F}));
  EXPECT_EQ(linear(x, w).item(), 2 * first.item());
}

TEST(Autocast, ACaptureDoesNotFreezeACastThatWasMadeBefore) {
  const Tensor x = f32({1, 1}, 1), w = f32({1, 1}, 2);
  const Autocast scope(Precision::bf16);
  w.write(std::span<const float>(std::array{2.0F}));
  const Tensor held = linear(x, w);
  Step step([&] { return linear(x, w).detach(); });
  EXPECT_EQ(step().item(), held.item());
  w.write(std::span<const float>(std::array{4.0F}));
  EXPECT_EQ(step().item(), 2 * held.item());
}

TEST(Autocast, ACheckpointRecomputesInTheTypesOfTheFirstRun) {
  const Tensor x = f32({3, 4}, 1), w = f32({4, 4}, 2);
  const auto piece = [](std::span<const Tensor> in) { return gelu(linear(in[0], in[1])); };
  const auto gradient = [&](bool kept) {
    Tensor y;
    {
      const Autocast scope(Precision::bf16);
      y = kept ? piece(std::array{x, w}) : checkpoint(piece, std::array{x, w});
    }
    return values(gradients(sum(cast(y, DType::f32)), std::array{w})[0]);  // after the scope
  };
  EXPECT_EQ(gradient(false), gradient(true));
}

TEST(Autocast, HalvesTheActivationsOfATransformer) {
  nn::Initializer init{.seed = 1};
  const nn::TransformerBlock block(64, init, {.heads = 4, .causal = true});
  const auto activations = [&](Precision precision) {
    const auto step = [&](std::span<const Tensor> in) {
      const Autocast scope(precision);
      // From outside comes f32; inside a model the block before gives 16 bits.
      const Tensor x = precision == Precision::f32 ? in[0] : cast(in[0], DType::bf16);
      Tensor y = x;
      for (int layer = 0; layer < 4; ++layer) y = block(y);
      return gradients(mean(y * y), block.parameters());
    };
    const Plan plan = make_plan(remove_dead(capture(step, std::array{Meta{{8, 128, 64}}})));
    return static_cast<double>(plan.at_peak[static_cast<size_t>(MemoryClass::activation)]);
  };
  EXPECT_LT(activations(Precision::bf16), 0.55 * activations(Precision::f32));
}

// The ops of a row of the table "| low | `a` `b` |".
std::set<std::string> listed(const std::string& rule) {
  std::ifstream file(PLIMSOLL_SOURCE_DIR "/docs/precision.md");
  std::set<std::string> names;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("| " + rule + " |")) continue;
    std::istringstream words(line);
    for (std::string word; std::getline(words, word, '`') && std::getline(words, word, '`');)
      names.insert(word);
  }
  return names;
}

TEST(Autocast, TheTableInTheDocumentsIsThatOfTheOps) {
  std::map<CastRule, std::set<std::string>> ops;
  for (const OpDef* op : all_ops()) ops[op->cast].insert(op->name);
  EXPECT_EQ(listed("low"), ops[CastRule::low]);
  EXPECT_EQ(listed("full"), ops[CastRule::full]);
  EXPECT_EQ(listed("widest"), ops[CastRule::widest]);
}

}  // namespace
}  // namespace plimsoll
