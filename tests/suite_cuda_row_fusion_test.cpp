// Fusion of ops over rows on a GPU: what kernels are generated, and that fused steps have the bits
// of plain ones. Runs as suite_cuda_fusion_test.cpp does, on a device or in the simulation.
#include <algorithm>

#include "autograd/gradients.h"
#include "core/apply.h"
#include "memory/step.h"
#include "ops/rms_norm/attrs.h"
#include "tests/fused_kernels.h"

namespace plimsoll {
namespace {

using namespace fused_programs;

// Layer norm of a sum that others read too.
std::vector<Tensor> residual_norm(std::span<const Tensor> in) {
  const Tensor h = in[0] + in[1];
  return {layer_norm(h, in[2], in[3]), h};
}

Metas residual_metas(int64_t rows, int64_t n, DType dtype = DType::f32) {
  return {on_cuda({rows, n}, dtype), on_cuda({rows, n}, dtype), on_cuda({n}), on_cuda({n})};
}

TEST(FusedRows, AreWrittenFromTheirMembers) {
  const Program program = fused_program(residual_norm, residual_metas(8, 768));
  EXPECT_EQ(names(program), "add+layer_norm");
  const fusion::KernelText kernel = kernel_text(only_group(program));
  EXPECT_EQ(kernel.threads, 192);  // four elements each
  EXPECT_EQ(kernel.words, std::vector{std::bit_cast<uint64_t>(1e-5)});
  EXPECT_EQ(kernel.body,
            R"(  const auto f0 = element::Binary<formulas::Add>{};
  const auto f1 = element::LayerNorm{constants<layer_norm_detail::LayerNormAttrs>({arguments.words[0]}), static_cast<const float*>(arguments.at[2]), static_cast<const float*>(arguments.at[3])};
  element::each_row<768, uint32_t>(arguments, [&]<int P>(element::Part<768, P, uint32_t> row) {
    element::Held<float, 768, P> in0;
    element::Held<float, 768, P> in1;
    element::Held<float, 768, P> v0;
    element::Held<float, 768, P> v1;
    row.each([&](int h, [[maybe_unused]] uint32_t i, [[maybe_unused]] int c) {
      in0[h] = element::load_any<float, P>(arguments.at[0], i);
      in1[h] = element::load_any<float, P>(arguments.at[1], i);
#pragma unroll
      for (int j = 0; j < P; ++j) {
        v0[h].at[j] = f0(in0[h].at[j], in1[h].at[j]);
      }
      element::store_any(arguments.at[4], i, v0[h]);
    });
    const auto s1 = f1.over_row(row, v0);
    row.each([&](int h, [[maybe_unused]] uint32_t i, [[maybe_unused]] int c) {
      const auto p1 = f1.template prepare<P>(c);
#pragma unroll
      for (int j = 0; j < P; ++j) {
        v1[h].at[j] = f1(s1, p1.at[j], v0[h].at[j]);
      }
      element::store_any(arguments.at[5], i, v1[h]);
    });
  });
)");
}

// The gradient by x of a norm of x, added to another one; and those of gain and bias.
std::vector<Tensor> norm_gradients(std::span<const Tensor> in) {
  const Tensor x = in[0].require_grad(), gamma = in[2].require_grad(), beta = in[3].require_grad();
  std::vector<Tensor> grads =
      gradients(layer_norm(x, gamma, beta), std::array{x, gamma, beta}, {.seed = in[1]});
  grads[0] = grads[0] + in[1];
  return grads;
}

TEST(FusedRows, AddUpTheirColumns) {
  const Program program = fused_program(norm_gradients, residual_metas(8, 768));
  EXPECT_EQ(names(program), "layer_norm layer_norm_grad+add");
  const auto& fused = program.instructions.back().attrs.as<fusion::Fused>();
  EXPECT_EQ(program.instructions.back().workspace, fused.sum_bytes);
  EXPECT_GE(fused.sum_bytes, 8 * 2 * 768 * 4);
  for (const fusion::Slice& sum : std::span(fused.members[0].out).subspan(1))
    EXPECT_EQ(std::tuple(sum.row_step, sum.column_step, sum.width), std::tuple(0, 1, 0));
  EXPECT_EQ(
      kernel_text(fused).body,
      R"(  const auto f0 = element::NormGradient<true>{static_cast<const float*>(arguments.at[2])};
  auto c0 = f0.template columns<768>();
  const auto f1 = element::Binary<formulas::Add>{};
  element::each_row_in_turn<768, uint32_t>(arguments, [&]<int P>(element::Part<768, P, uint32_t> row) {
    element::Held<float, 768, P> in0;
    element::Held<float, 768, P> in1;
    element::Held<float, 768, P> v0;
    element::Held<float, 768, P> v1;
    const auto in2 = element::load<double, 1>(arguments.at[3], row.number);
    const auto in3 = element::load<float, 1>(arguments.at[4], row.number);
    row.each([&](int h, [[maybe_unused]] uint32_t i, [[maybe_unused]] int c) {
      in0[h] = element::load_any<float, P>(arguments.at[0], i);
      in1[h] = element::load_any<float, P>(arguments.at[1], i);
    });
    const auto s0 = f0.over_row(row, c0, in0, in1, in2, in3);
    row.each([&](int h, [[maybe_unused]] uint32_t i, [[maybe_unused]] int c) {
#pragma unroll
      for (int j = 0; j < P; ++j) {
        v0[h].at[j] = f0(s0, c0.of[h][j], in0[h].at[j], in1[h].at[j]);
        v1[h].at[j] = f1(v0[h].at[j], in0[h].at[j]);
      }
      element::store_any(arguments.at[7], i, v1[h]);
    });
  });
  c0.leave(arguments.at[8]);
)");
}

// Elsewhere the op by itself has other threads than rows in groups have. No other op does so.
TEST(FusedRows, AddUpTheirColumnsWhereThreadsAreTheSame) {
  for (const auto& [n, dtype, together] :
       {std::tuple(4, DType::f32, true), std::tuple(1024, DType::bf16, true),
        std::tuple(1028, DType::f32, false), std::tuple(1023, DType::f32, false)})
    EXPECT_EQ(names(fused_program(norm_gradients, residual_metas(8, n, dtype))),
              together ? "layer_norm layer_norm_grad+add" : "layer_norm layer_norm_grad add")
        << n;
  std::string ops;
  for (const OpDef* op : all_ops())
    if (fusion::sums_columns(*op)) ops += cat(op->name, " ");
  EXPECT_EQ(ops, "layer_norm_grad rms_norm_grad ");
}

// Two gradients of norms that follow each other are two groups, and each may have neighbours.
TEST(FusedRows, AddUpTheColumnsOfOneMember) {
  const auto two = [](std::span<const Tensor> in) {
    const Tensor x = in[0].require_grad(), gamma = in[2].require_grad();
    const Tensor y = rms_norm(gelu(rms_norm(x, gamma)), gamma);
    return gradients(y, std::array{x, gamma}, {.seed = in[1]});
  };
  const std::string all = names(fused_program(two, residual_metas(8, 64)));
  EXPECT_TRUE(contains(all, " rms_norm_grad+gelu_grad rms_norm_grad")) << all;
}

TEST(FusedRows, ShareAKernelForAnyNumberOfThem) {
  const auto kernel = [](int64_t rows) {
    return only_group(fused_program(residual_norm, residual_metas(rows, 96))).kernel;
  };
  EXPECT_EQ(kernel(3), kernel(5));
}

TEST(FusedRows, AreHeldByABlockOrStayAlone) {
  const auto fused = [](const Shape& shape, DType dtype) {
    return names(fused_program(
        [](std::span<const Tensor> in) { return std::vector{softmax(2.0 * in[0], -1)}; },
        {on_cuda(shape, dtype)}));
  };
  EXPECT_EQ(fused({3, 8192}, DType::bf16), "affine+softmax");
  EXPECT_EQ(fused({3, 8193}, DType::bf16), "affine softmax");
  EXPECT_EQ(fused({3, 8}, DType::f64), "affine softmax");
}

// Statistics have one element for each row, as if they were elements where rows have only one.
TEST(FusedRows, HandOnNoStatistics) {
  const auto is_norm = [](const OpDef* op) { return std::string_view(op->name) == "rms_norm"; };
  const OpDef& norm = **std::ranges::find_if(all_ops(), is_norm);
  const auto statistics = [&](std::span<const Tensor> in) {
    const std::vector<Tensor> out = apply(norm, {in[0], in[1]}, RmsNormAttrs{1e-6});
    return std::vector{out[0], relu(out[1])};
  };
  EXPECT_EQ(names(fused_program(statistics, {on_cuda({4, 1}), on_cuda({1})})), "rms_norm relu");
}

struct Chain {
  const char* name;
  std::vector<Tensor> (*f)(std::span<const Tensor> in);
  const char* fused;        // a group that it has, by name
  const char* summed = "";  // where columns are added up in groups
};

// in: x, f, dy [R, N], of one type; gamma, beta [N] and scale [R, 1], in f32; a key.
const Chain kChains[] = {
    {"residual sum and layer norm, with gradients",
     [](std::span<const Tensor> in) {
       const Tensor x = in[0].require_grad(), gamma = in[3].require_grad();
       const Tensor h = x + dropout(in[1], 0.25, in[6], 3);
       const Tensor y = layer_norm(h, gamma, in[4]);
       std::vector<Tensor> results = gradients(y, std::array{x, gamma}, {.seed = in[2]});
       results.insert(results.end(), {y.detach(), h.detach()});
       return results;
     },
     "dropout+add+layer_norm"},
    {"gradients of a norm in the middle of a block, with gain and bias",
     [](std::span<const Tensor> in) {
       const Tensor x = in[0].require_grad(), f = in[1].require_grad();
       const Tensor gamma = in[3].require_grad(), beta = in[4].require_grad();
       const Tensor h = x + f;
       const Tensor y = layer_norm(h, gamma, beta) * in[1] + h;
       return gradients(y, std::array{x, gamma, beta}, {.seed = in[2]});
     },
     "add+layer_norm", "mul+layer_norm_grad+add"},
    {"the same without a mean, in another type before and behind",
     [](std::span<const Tensor> in) {
       const Tensor x = in[0].require_grad(), gamma = in[3].require_grad();
       const Tensor y = relu(cast(rms_norm(cast(x, DType::f32), gamma), in[0].dtype()) * in[1]);
       std::vector<Tensor> grads = gradients(y, std::array{x, gamma}, {.seed = in[2]});
       grads[0] = grads[0] + in[2];
       return grads;
     },
     "relu_grad+mul", "rms_norm_grad+"},
    {"a gradient whose sums nobody wants",
     [](std::span<const Tensor> in) {
       const Tensor x = in[0].require_grad();
       return gradients(layer_norm(relu(x), in[3], in[4]) * in[1], std::array{x}, {.seed = in[2]});
     },
     "relu+layer_norm", "mul+layer_norm_grad+relu_grad"},
    {"a norm in the middle, read again behind the next",
     [](std::span<const Tensor> in) {
       const Tensor a = rms_norm(gelu(in[0]), in[3]) * in[1];
       return std::vector{layer_norm(a + in[0], in[3], in[4]) - a};
     },
     "gelu+rms_norm+mul+add+layer_norm+sub"},
    {"a norm first, of another type than what follows",
     [](std::span<const Tensor> in) {
       const Tensor wide = cast(layer_norm(in[0], in[3], in[4]), DType::f32);
       return std::vector{cast(wide * in[5] + in[4], DType::f64), relu(in[0])};
     },
     "+mul+add+cast"},
    {"softmax of scaled scores, and its gradient",
     [](std::span<const Tensor> in) {
       const Tensor x = in[0].require_grad();
       const Tensor y = softmax(3.0 * x, -1);
       return std::vector{gradients(y, std::array{x}, {.seed = 0.5 * in[2]})[0], y.detach()};
     },
     "softmax_grad"},
    {"log_softmax, its gradient, and rows that are masked",
     [](std::span<const Tensor> in) {
       const Tensor x = in[0].require_grad();
       const Tensor y = log_softmax(x + in[1], -1);
       const Tensor masked = where(lt(in[1], cast(in[5], in[1].dtype())), in[0], -1e4 * in[1]);
       return std::vector{gradients(y, std::array{x}, {.seed = in[2]})[0], softmax(masked, -1)};
     },
     "log_softmax"}};

struct Trial {
  const Chain& chain;
  std::vector<Tensor> inputs;
  Metas metas;
};

Trial make_trial(const Chain& chain, int64_t n, DType dtype, int64_t rows = 3) {
  Trial trial{chain, {}, {}};
  uint64_t seed = static_cast<uint64_t>(n);
  const auto add = [&](const Tensor& x) {
    trial.inputs.push_back(to_device(x, Device::cuda));
    trial.metas.push_back(trial.inputs.back().meta());
  };
  for (int k = 0; k < 3; ++k) add(cast(uniform({rows, n}, -2, 2, seed++), dtype));
  add(uniform({n}, 0.5, 2, seed++));
  add(uniform({n}, -1, 1, seed++));
  add(uniform({rows, 1}, -1, 1, seed++));
  add(make_key(seed, 3));
  return trial;
}

// In rows of one warp and of many, of whole packs and not, held in one piece and in several.
TEST(FusedRowsOnCuda, LeaveTheSameBits) {
  if (const std::string why = why_no_kernels(); !why.empty()) GTEST_SKIP() << why;
  std::vector<Trial> trials;
  std::vector<const GeneratedKernel*> kernels;
  for (const Chain& chain : kChains)
    for (const int64_t n : {1, 7, 32, 768, 1024, 1025, 4096})
      for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
        trials.push_back(make_trial(chain, n, dtype));
        const Program program = fused_program(chain.f, trials.back().metas);
        EXPECT_TRUE(contains(names(program), chain.fused)) << names(program);
        if (n % 4 == 0 && n <= 1024) {
          EXPECT_TRUE(contains(names(program), chain.summed)) << names(program);
        }
        add_kernels(program, kernels);
      }
  for (const size_t k : {1, 2}) {  // blocks that take several rows each
    trials.push_back(make_trial(kChains[k], 32, DType::f32, 1100));
    add_kernels(fused_program(kChains[k].f, trials.back().metas), kernels);
  }
  ASSERT_TRUE(compile_generated(kernels));
  for (const Trial& trial : trials) {
    SCOPED_TRACE(cat(trial.chain.name, ": ", trial.metas[0]));
    const StepFunction f(trial.chain.f);
    Step plain{f}, fused{f, {.fusion = kFuseAll}};
    EXPECT_LE(fused.plan(trial.metas).arena_bytes, plain.plan(trial.metas).arena_bytes);
    EXPECT_LT(fused.plan(trial.metas).instructions, plain.plan(trial.metas).instructions);
    const std::vector<Tensor> expected = plain.run(trial.inputs), actual = fused.run(trial.inputs);
    for (size_t k = 0; k < expected.size(); ++k) expect_same_bits(actual[k], expected[k]);
  }
}

// Which thread has which elements does not depend on where operands lie, alone and in a group.
TEST(FusedRowsOnCuda, InputsMayLieAnywhere) {
  if (const std::string why = why_no_kernels(); !why.empty()) GTEST_SKIP() << why;
  constexpr int64_t kRows = 2, kColumns = 160;
  const Tensor all = uniform({kRows * kColumns + 4}, -1, 1, 5, {.device = Device::cuda});
  const Tensor ones_and = uniform({kColumns + 4}, 0.5, 2, 6, {.device = Device::cuda});
  const auto from = [](const Tensor& x, int64_t first, const Shape& shape) {
    return reshape(slice(x, 0, first, first + count(shape)), shape);
  };
  for (const DType dtype : {DType::f32, DType::bf16})
    for (int64_t first = 0; first < 4; ++first)
      for (int64_t weight = 0; weight < 4; weight += 2) {
        SCOPED_TRACE(cat(dtype, " ", first, " ", weight));
        const Tensor x = from(cast(all, dtype), first, {kRows, kColumns});
        const Tensor aligned = from(cast(all, dtype), 0, {kRows, kColumns});
        const std::vector<Tensor> inputs{x, aligned, from(ones_and, weight, {kColumns}),
                                         from(ones_and, 0, {kColumns})};
        const auto both = [](std::span<const Tensor> in) {
          std::vector results{layer_norm(in[1] + in[0], in[2], in[3]),
                              rms_norm(in[0], in[2]) * in[1],
                              layer_norm(rms_norm(in[1], in[2]), in[3], in[3])};
          const Tensor x = in[0].require_grad(), gamma = in[2].require_grad();
          const Tensor y = layer_norm(x, gamma, in[3]) * in[1];
          for (const Tensor& g : gradients(y, std::array{x, gamma}, {.seed = in[0]}))
            results.push_back(g);
          return results;
        };
        Step plain{StepFunction(both)}, fused{StepFunction(both), {.fusion = kFuseAll}};
        const std::vector<Tensor> expected = plain.run(inputs), actual = fused.run(inputs);
        for (size_t k = 0; k < expected.size(); ++k) expect_same_bits(actual[k], expected[k]);
        Metas metas;
        for (const Tensor& in : inputs) metas.push_back(in.meta());
        EXPECT_EQ(fused.plan(metas).instructions, 5);
      }
}

// NaN, infinities, and rows that are nothing but -infinity.
TEST(FusedRowsOnCuda, PassOnWhatIsNotFinite) {
  if (const std::string why = why_no_kernels(); !why.empty()) GTEST_SKIP() << why;
  const float inf = std::numeric_limits<float>::infinity();
  std::vector<float> values(5 * 40, 1);
  values[3] = NAN, values[43] = inf, values[83] = -inf, values[124] = 1e38f;
  std::fill(values.end() - 40, values.end(), -inf);
  const Tensor x =
      to_device(Tensor::of<float>(std::span<const float>(values), {5, 40}), Device::cuda);
  const auto f = [](std::span<const Tensor> in) {
    return std::vector{softmax(-(-in[0]), -1), relu(log_softmax(in[0], -1))};
  };
  Step plain{StepFunction(f)}, fused{StepFunction(f), {.fusion = kFuseAll}};
  const std::vector<Tensor> expected = plain.run(std::array{x}), actual = fused.run(std::array{x});
  for (size_t k = 0; k < expected.size(); ++k) expect_same_bits(actual[k], expected[k]);
  EXPECT_EQ(fused.plan({x.meta()}).instructions, 2);
}

}  // namespace
}  // namespace plimsoll
