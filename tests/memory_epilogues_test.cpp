// The pass that joins products with what follows them (memory/fusion/epilogues.h): on synthetic
// rules, and by those of the ops on captured steps. That joined ops compute the same is shown by
// epilogues_test.cpp and the suites over all ops.
#include "memory/fusion/epilogues.h"

#include <algorithm>

#include "autograd/autocast.h"
#include "autograd/gradients.h"
#include "core/workspaces.h"
#include "memory/dead_code.h"
#include "memory/early_update.h"
#include "memory/plan.h"
#include "memory/step.h"
#include "nn/transformer.h"
#include "optim/adam.h"
#include "tests/fused_programs.h"
#include "tests/memory_ops.h"

namespace plimsoll {
namespace {

using namespace memory_test;

std::string names(const Program& program) {
  std::string text;
  for (const Instruction& i : program.instructions)
    text += cat(text.empty() ? "" : " ", i.op->name);
  return text;
}

int64_t arena(const Program& program) { return make_plan(update_early(program)).arena_bytes; }

// A synthetic product, flip, with a plus that reads it: {flip(x) + b, flip(x)}, or the first alone.
// Its scratch is as large as x, four times.
constexpr OpDef flip_plus_op{.name = "flip_plus",
                             .infer = same_as_input,
                             .workspace = [](std::span<const Meta> in, std::span<const Meta>,
                                             const Attrs&) { return 4 * bytes_of(in[0]); }};

std::optional<Instruction> join_plus(const Instruction& flip, const Instruction& plus, bool kept) {
  if (plus.in[0] != flip.out[0]) return {};
  std::vector<Operand> out = plus.out;
  if (kept) out.push_back(flip.out[0]);
  return Instruction{&flip_plus_op, {}, {flip.in[0], plus.in[1]}, out};
}

// Of the ops as the program has them: each test file has its own memory_ops.h.
Program joined_by_rule(const Program& program) {
  const auto named = [&](std::string_view name) {
    return std::ranges::find_if(program.instructions,
                                [&](const Instruction& i) { return i.op->name == name; })
        ->op;
  };
  const EpilogueRule rule{named("flip"), named("plus"), join_plus};
  return join_epilogues(program, {&rule, 1});
}

template <class F>
Program captured(F f, const Metas& metas) {
  return remove_dead(capture([&](std::span<const Tensor> in) { return f(in); }, metas));
}

// With room for the scratch elsewhere.
template <class F>
std::string joined_names(F f) {
  const Program program = captured(
      [&](auto in) {
        std::vector<Tensor> results = f(in);
        results.push_back(scan(in[2]));
        return results;
      },
      {vec(100), vec(100), vec(10000)});
  const Program joined = joined_by_rule(program);
  EXPECT_LE(arena(joined), arena(program));
  std::string text = names(joined);
  EXPECT_TRUE(text.ends_with(" scan"));
  text.resize(text.size() - 5);
  return text;
}

TEST(JoinedEpilogues, WhatFollowsComesToItsProduct) {
  EXPECT_EQ(joined_names([](auto in) { return std::vector{plus(flip(in[0]), in[1])}; }),
            "flip_plus");
  // Others between them do not matter; what they read may be the product's own result.
  EXPECT_EQ(joined_names([](auto in) {
              const Tensor a = flip(in[0]), b = scale(in[1], 2), c = scale(a, 3);
              return std::vector{plus(a, in[1]), b, c};
            }),
            "flip_plus scale scale");
}

TEST(JoinedEpilogues, NothingIsReadBeforeItIsMadeOrChanged) {
  EXPECT_EQ(joined_names([](auto in) {
              const Tensor a = flip(in[0]), b = scale(in[1], 2);
              return std::vector{plus(a, b)};
            }),
            "flip scale plus");
  const Tensor state = Tensor::empty(vec(100));
  EXPECT_EQ(joined_names([&](auto in) {
              const Tensor a = flip(in[0]);
              add_to(state, in[1]);
              return std::vector{plus(a, state)};
            }),
            "flip add_to plus");
}

// Each pair by itself: the larger scratch would be above the peak.
TEST(JoinedEpilogues, WhatWouldTakeMoreBytesIsLeft) {
  const Program program = captured(
      [](auto in) {
        return std::vector{plus(flip(in[0]), in[0]), plus(flip(in[1]), in[1]),
                           plus(flip(in[2]), in[2]), scan(in[1])};
      },
      {vec(100), vec(10000), vec(200)});
  const Program joined = joined_by_rule(program);
  EXPECT_EQ(names(joined), "flip_plus flip plus flip_plus scan");
  EXPECT_LE(arena(joined), arena(program));
}

// The ops' own rules. Programs of a GPU are captured on the CPU, where parameters have memory.
Program moved_to_cuda(Program program) {
  program = fused_programs::moved_to_cuda(std::move(program));
  find_workspaces(program);
  return program;
}

template <class F>
std::string joined_ops(F f, const std::vector<Shape>& shapes, DType dtype = DType::bf16) {
  Metas metas;
  for (const Shape& shape : shapes) metas.push_back({shape, dtype, Device::cpu});
  return names(join_epilogues(moved_to_cuda(captured(f, metas)), epilogue_rules()));
}

TEST(JoinedEpilogues, OfLinearAndGelu) {
  const auto layer = [](auto in) { return std::vector{gelu_tanh(linear(in[0], in[1], in[2]))}; };
  const std::vector<Shape> shapes{{2, 3, 4}, {8, 4}, {8}};
  EXPECT_EQ(joined_ops(layer, shapes), "linear_gelu_tanh");
  EXPECT_EQ(joined_ops(layer, shapes, DType::f16), "linear_gelu_tanh");
  EXPECT_EQ(joined_ops(layer, shapes, DType::f32), "linear gelu_tanh");
  EXPECT_EQ(joined_ops([](auto in) { return std::vector{gelu(linear(in[0], in[1]))}; }, shapes),
            "linear gelu");  // by erf
  EXPECT_EQ(joined_ops(
                [](auto in) {
                  const Tensor h = linear(in[0], in[1]);
                  return std::vector{gelu_tanh(h), relu(h)};
                },
                shapes),
            "linear_gelu_tanh relu");
  EXPECT_EQ(joined_ops(
                [](auto in) {  // a part of the product
                  return std::vector{gelu_tanh(slice(linear(in[0], in[1]), 0, 0, 1))};
                },
                shapes),
            "linear gelu_tanh");
}

TEST(JoinedEpilogues, OfGradients) {
  const auto layers = [](auto in) {
    const Tensor x = in[0].detach().require_grad(), w1 = in[1].detach().require_grad(),
                 b1 = in[2].detach().require_grad(), w2 = in[3].detach().require_grad();
    const Tensor y = linear(gelu_tanh(linear(x, w1, b1)), w2);
    return gradients(y, std::array{x, w1, b1, w2}, {.seed = in[4]});
  };
  const std::vector<Shape> shapes{{2, 3, 4}, {8, 4}, {8}, {5, 8}, {2, 3, 5}};
  EXPECT_EQ(joined_ops(layers, shapes),
            "linear_gelu_tanh matmul_gelu_tanh_grad matmul matmul matmul");
  EXPECT_EQ(joined_ops(layers, shapes, DType::f32),
            "linear gelu_tanh matmul matmul gelu_tanh_grad matmul matmul sum");
  const auto layer = [](auto in) {
    const Tensor x = in[0].detach().require_grad(), w = in[1].detach().require_grad(),
                 b = in[2].detach().require_grad();
    return gradients(linear(x, w, b), std::array{x, w, b}, {.seed = in[3]});
  };
  EXPECT_EQ(joined_ops(layer, {{2, 3, 4}, {8, 4}, {8}, {2, 3, 8}}), "matmul linear_weight_grad");
  // Another sum, and a product whose result somebody else reads.
  EXPECT_EQ(joined_ops(
                [](auto in) {
                  return std::vector{matmul(transpose(in[0]), in[1]), sum(in[0], {1})};
                },
                {{6, 8}, {6, 4}}),
            "matmul sum");
  EXPECT_EQ(joined_ops(
                [](auto in) {
                  const Tensor h = in[2].detach().require_grad();
                  const Tensor dy = matmul(in[0], in[1]);
                  return std::vector{gradients(gelu_tanh(h), std::array{h}, {.seed = dy})[0], dy};
                },
                {{6, 8}, {8, 4}, {6, 4}}),
            "matmul gelu_tanh_grad");
  // Read as gelu's input too.
  EXPECT_EQ(joined_ops(
                [](auto in) {
                  const Tensor h = matmul(in[0], in[1]).detach().require_grad();
                  return gradients(gelu_tanh(h), std::array{h}, {.seed = h.detach()});
                },
                {{6, 8}, {8, 4}}),
            "matmul gelu_tanh_grad");
}

TEST(JoinedEpilogues, OfATransformersStepTakeNoMoreBytes) {
  nn::Build build{.seed = 1};
  const nn::TransformerBlock block(
      32, build, {.heads = 2, .causal = true, .activation = nn::Activation::gelu_tanh});
  const std::vector<Tensor> parameters = block.parameters();
  optim::Optimizer optimizer{optim::Adam(parameters)};
  const auto train = [&](std::span<const Tensor> in) {
    const Autocast scope(Precision::bf16);
    const Tensor y = block(block(in[0], nn::training()), nn::training());
    const Tensor loss = mean(y * y);
    optimizer.update(gradients(loss, parameters));
    return std::vector{loss};
  };
  const Metas metas{{{4, 16, 32}, DType::f32, Device::cpu}};
  const Program plain = moved_to_cuda(captured(train, metas));
  const Program joined = join_epilogues(plain, epilogue_rules());
  const auto times = [&](std::string_view op) {
    return std::ranges::count_if(joined.instructions,
                                 [&](const Instruction& i) { return i.op->name == op; });
  };
  EXPECT_EQ(times("linear_gelu_tanh"), 2);
  EXPECT_EQ(times("matmul_gelu_tanh_grad"), 2);
  EXPECT_EQ(times("linear_weight_grad"), 6);
  EXPECT_EQ(times("sum"), 0);
  EXPECT_LE(arena(joined), arena(plain));
  // On the CPU there are none, whatever is asked for.
  Step step(StepFunction(train), {.fusion = kFuseAll});
  EXPECT_EQ(names(step.program(metas)).find("linear_gelu_tanh"), std::string::npos);
}

}  // namespace
}  // namespace plimsoll
