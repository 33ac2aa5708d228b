// The kernels that fusion writes for a GPU, compiled by NVRTC, which needs neither GPU nor driver:
// those of the examples' steps, for an A100 and an H100. Skipped by name where there is no NVRTC.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <regex>
#include <set>

#include "autograd/autocast.h"
#include "autograd/gradients.h"
#include "core/cuda/generated.h"
#include "core/cuda/libraries.h"
#include "core/trace.h"
#include "examples/common/cnn_models.h"
#include "examples/common/transformer_models.h"
#include "memory/dead_code.h"
#include "memory/fusion/fuse.h"
#include "memory/fusion/fused.h"
#include "ops/ops.h"
#include "optim/adam.h"
#include "optim/clip.h"
#include "tests/data_testing.h"
#include "tests/errors.h"
#include "tests/fused_kernels.h"
#include "tests/fused_programs.h"
#include "tests/suite.h"

namespace plimsoll {
namespace {

using examples::Staged;

struct Example {
  std::unique_ptr<Staged> model;
  Metas inputs;
};

// The models with the sizes that the training programs give them.
Example make_example(const std::string& name, double dropout) {
  nn::Build build{.seed = 1};
  const auto meta = [](const Shape& shape, DType dtype) { return Meta{shape, dtype, Device::cpu}; };
  const Meta key = meta({2}, DType::i64);
  if (name == "gpt")
    return {examples::make_gpt({.vocabulary = 65, .dropout = dropout}, false, build),
            {meta({32, 64}, DType::i64), meta({32, 64}, DType::i64), key}};
  if (name == "textcls")
    return {examples::make_text_classifier({.dropout = dropout}, false, build),
            {meta({32, 128}, DType::i64), meta({32}, DType::i64), key}};
  const int64_t side = name == "lenet" ? 28 : 32, channels = name == "lenet" ? 1 : 3;
  return {examples::make_cnn(name, {side, side, channels, 10}, false, build),
          {meta({128, side, side, channels}, DType::f32), meta({128}, DType::i64), key}};
}

// The step of a model as a program of a GPU. It is captured on the CPU: parameters have memory.
Program training_step(const Example& example, Precision precision) {
  const std::vector<Tensor> parameters = example.model->parameters();
  optim::Optimizer optimizer{optim::Adam(parameters)};
  Program program = remove_dead(capture(
      [&](std::span<const Tensor> in) {
        const Autocast scope(precision);
        const Tensor loss = cross_entropy((*example.model)(in[0], nn::training(in[2])), in[1]);
        const std::vector<Tensor> grads = gradients(loss, parameters);
        optimizer.update(optim::clip_by_global_norm(grads, 1.0).grads);
        return std::vector{loss};
      },
      example.inputs));
  return fused_programs::moved_to_cuda(std::move(program));
}

struct Kernels {
  std::vector<const GeneratedKernel*> all;  // one for each group
  size_t members = 0;
};

Kernels kernels_of(const Program& program) {
  Kernels found;
  const auto groups = fusion::find_groups(program, kFuseAll);
  for (const Instruction& i : fusion::rewrite(program, groups).instructions)
    if (fusion::is_fused(i)) {
      const auto& fused = i.attrs.as<fusion::Fused>();
      found.all.push_back(fused.kernel);
      found.members += fused.members.size();
    }
  return found;
}

std::vector<const GeneratedKernel*> distinct(std::vector<const GeneratedKernel*> kernels) {
  std::ranges::sort(kernels);
  kernels.erase(std::unique(kernels.begin(), kernels.end()), kernels.end());
  return kernels;
}

class GeneratedKernels : public testing::Test {
 protected:
  void SetUp() override {
    setenv("PLIMSOLL_CUDA_PLANS", "none", 1);
    try {
      cuda::compile_module("", 90);
    } catch (const DeviceError& error) {
      GTEST_SKIP() << error.what();
    }
  }
  void TearDown() override { unsetenv("PLIMSOLL_CUDA_PLANS"); }

  static cuda::CompiledModule compile(const std::string& text, int architecture) {
    const char* const verbose[] = {"--ptxas-options=-v"};
    return cuda::compile_module(text, architecture, verbose);
  }
};

TEST_F(GeneratedKernels, OfTheExamplesCompile) {
  std::printf("%-8s %-7s %-5s %6s %7s %7s %9s %7s %5s\n", "model", "dropout", "type", "groups",
              "members", "kernels", "registers", "bytes", "ms");
  size_t all = 0;
  for (const auto& [name, dropout] : std::initializer_list<std::pair<const char*, double>>{
           {"lenet", 0}, {"resnet8", 0}, {"gpt", 0}, {"gpt", 0.1}, {"textcls", 0.1}}) {
    const Example example = make_example(name, dropout);
    for (const Precision precision : {Precision::f32, Precision::bf16}) {
      const Kernels kernels = kernels_of(training_step(example, precision));
      all += kernels.all.size();
      const auto once = distinct(kernels.all);
      if (once.empty()) continue;
      const std::string text = cuda::module_text(once);
      for (const int architecture : {80, 90}) {
        SCOPED_TRACE(cat(name, " for ", architecture));
        const auto start = std::chrono::steady_clock::now();
        const cuda::CompiledModule module = compile(text, architecture);
        const std::chrono::duration<double, std::milli> time =
            std::chrono::steady_clock::now() - start;
        EXPECT_EQ(module.log.find("warning"), std::string::npos) << module.log;
        int registers = 0, functions = 0;
        const std::regex used("Used ([0-9]+) registers"), spilled("([0-9]+) bytes spill stores");
        for (std::sregex_iterator m(module.log.begin(), module.log.end(), used), end; m != end; ++m)
          ++functions, registers = std::max(registers, std::stoi((*m)[1]));
        for (std::sregex_iterator m(module.log.begin(), module.log.end(), spilled), end; m != end;
             ++m)
          EXPECT_EQ((*m)[1], "0") << module.log;
        EXPECT_EQ(functions, static_cast<int>(once.size())) << module.log;
        EXPECT_LT(registers, 128);  // two blocks of 256 threads on a multiprocessor
        if (architecture == 90)
          std::printf("%-8s %-7g %-5s %6zu %7zu %7zu %9d %7zu %5.0f\n", name, dropout,
                      precision == Precision::f32 ? "f32" : "bf16", kernels.all.size(),
                      kernels.members, once.size(), registers, module.code.size(), time.count());
      }
    }
  }
  EXPECT_GT(all, 20u);
}

// Of each op and type the first case.
TEST_F(GeneratedKernels, OfEveryOpCompile) {
  std::set<std::string> reached, ops;
  std::vector<const GeneratedKernel*> kernels;
  for (const SuiteParam& param : all_cases())
    for (const DType dtype : param.op_case.dtypes) {
      const std::vector<Tensor> inputs = make_inputs(param.op_case, dtype);
      Metas metas;
      for (const Tensor& x : inputs) metas.push_back(x.meta());
      const Program program = fused_programs::moved_to_cuda(remove_dead(capture(
          [&](std::span<const Tensor> in) { return outputs_and_gradients(param.op_case, in); },
          metas)));
      const auto groups = fusion::find_groups(program, kFuseAll, /*least_members=*/1);
      for (const Instruction& i : fusion::rewrite(program, groups).instructions) {
        if (!fusion::is_fused(i)) continue;
        bool is_new = false;
        for (const fusion::Member& member : i.attrs.as<fusion::Fused>().members) {
          ops.insert(member.op->name);
          is_new = reached.insert(cat(member.op->name, " ", member.in[0].dtype)).second || is_new;
        }
        if (is_new) kernels.push_back(i.attrs.as<fusion::Fused>().kernel);
      }
    }
  const cuda::CompiledModule module = compile(cuda::module_text(distinct(kernels)), 90);
  EXPECT_EQ(module.log.find("warning"), std::string::npos) << module.log;
  for (const OpDef* op : all_ops())
    EXPECT_EQ(ops.contains(op->name), op->code != nullptr) << op->name;
}

// Of rows of any length the elements stay in registers.
TEST_F(GeneratedKernels, OfRowsCompile) {
  std::vector<const GeneratedKernel*> kernels;
  for (const int64_t n : {1, 7, 32, 768, 1024, 1025, 4096, 8192})
    for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
      const Meta x{{4, n}, dtype, Device::cuda}, weight{{n}, DType::f32, Device::cuda};
      const Program program = remove_dead(capture(
          [](std::span<const Tensor> in) {
            const Tensor h = in[0] + in[1], gamma = in[2].require_grad();
            const Tensor other = in[1].require_grad();
            auto results = gradients(layer_norm(other, gamma, gamma) * in[0],
                                     std::array{other, gamma}, {.seed = in[0]});
            results.insert(results.end(), {h, layer_norm(h, in[2], in[2]), results[0] + in[0]});
            return results;
          },
          Metas{x, x, weight}));
      for (const GeneratedKernel* kernel : kernels_of(program).all) kernels.push_back(kernel);
    }
  const auto once = distinct(kernels);
  for (const int architecture : {80, 90}) {
    const auto start = std::chrono::steady_clock::now();
    const cuda::CompiledModule module = compile(cuda::module_text(once), architecture);
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    EXPECT_EQ(module.log.find("warning"), std::string::npos) << module.log;
    std::printf("%zu kernels of rows for %d: %.1f s\n", once.size(), architecture, time.count());
    const std::regex line("([0-9]+) bytes stack frame, ([0-9]+) bytes spill stores"),
        used("Used ([0-9]+) registers");
    int functions = 0, registers = 0;
    for (std::sregex_iterator m(module.log.begin(), module.log.end(), line), end; m != end; ++m) {
      ++functions;
      EXPECT_EQ((*m)[1], "0");
      EXPECT_EQ((*m)[2], "0");
    }
    for (std::sregex_iterator m(module.log.begin(), module.log.end(), used), end; m != end; ++m)
      registers = std::max(registers, std::stoi((*m)[1]));
    EXPECT_EQ(functions, static_cast<int>(once.size()));
    EXPECT_LT(registers, 128);
    std::printf("%d registers at most\n", registers);
  }
}

template <class F>
std::string ptx_of(F f, const Metas& metas) {
  const Program program =
      remove_dead(capture([&](std::span<const Tensor> in) { return f(in); }, metas));
  const auto kernels = kernels_of(program).all;
  EXPECT_EQ(kernels.size(), 1u);
  const auto [code, log] = cuda::compile_module(cuda::module_text(kernels), 999);
  return {code.begin(), code.end()};
}

size_t times(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++found;
  return found;
}

// A product of one op and a sum of the next stay two roundings, as they are by themselves; within
// an op they may be one. A device younger than NVRTC gets PTX.
TEST_F(GeneratedKernels, ContractNothingBetweenOps) {
  const Metas three(3, {{1024}, DType::f32, Device::cuda});
  const std::string apart =
      ptx_of([](auto in) { return std::vector{in[0] * in[1] + in[2]}; }, three);
  EXPECT_TRUE(apart.find(".target sm_") != std::string::npos);
  EXPECT_EQ(times(apart, "fma.rn.f32"), 0u);
  EXPECT_EQ(times(apart, "mul.f32"), 5u);  // four in a pack, one by itself
  const std::string within =
      ptx_of([](auto in) { return std::vector{affine(in[0], 0.5, 2) + in[2]}; }, three);
  EXPECT_EQ(times(within, "fma.rn.f32"), 5u);
}

// Known lengths would be divided by as the op by itself does not: 1,024 by a product.
TEST_F(GeneratedKernels, DivideByTheLengthOfRowsAsOpsDo) {
  const Metas metas{{{4, 1024}, DType::f32, Device::cuda}, {{1024}, DType::f32, Device::cuda}};
  const std::string text =
      ptx_of([](auto in) { return std::vector{relu(layer_norm(in[0], in[1], in[1]))}; }, metas);
  EXPECT_EQ(times(text, "0d3F50000000000000"), 0u);  // 1 / 1024
  EXPECT_EQ(times(text, "0f3A800000"), 0u);
  EXPECT_EQ(times(text, "div.rn.f32"), 1u);
}

TEST_F(GeneratedKernels, MoveSixteenBytes) {
  const Metas two(2, {{1024}, DType::f32, Device::cuda});
  const std::string text = ptx_of([](auto in) { return std::vector{relu(in[0] + in[1])}; }, two);
  EXPECT_EQ(times(text, "ld.global.v4.f32"), 2u);
  EXPECT_EQ(times(text, "st.global.v4.f32"), 1u);
}

TEST_F(GeneratedKernels, DrawRandomWordsOnceForFourElements) {
  const Metas metas{{{1024}, DType::f32, Device::cuda}, {{2}, DType::i64, Device::cuda}};
  const std::string text =
      ptx_of([](auto in) { return std::vector{relu(dropout(in[0], 0.5, in[1], 7))}; }, metas);
  // Ten rounds of two products: for the key, for a pack of four, and for a single element.
  EXPECT_LE(times(text, "mul.wide.u32") + times(text, "mul.hi.u32"), 3 * 20 + 10u);
}

TEST_F(GeneratedKernels, AreKeptInAFile) {
  const data::TemporaryFolder folder;
  setenv("PLIMSOLL_CUDA_PLANS", folder.text("cubins").c_str(), 1);
  const std::string text = "extern \"C\" __global__ void none() {}";
  const auto first = compile(text, 90), second = compile(text, 90), other = compile(text, 80);
  EXPECT_FALSE(first.log.empty());
  EXPECT_TRUE(second.log.empty());  // nothing was compiled
  EXPECT_EQ(first.code, second.code);
  EXPECT_FALSE(other.log.empty());
  EXPECT_NE(first.code, other.code);
}

TEST_F(GeneratedKernels, RefusalsSayWhy) {
  const std::string error = error_of<DeviceError>([] { cuda::compile_module("nonsense", 90); });
  EXPECT_TRUE(error.starts_with("cuda: NVRTC refuses generated kernels: fused.cu(1): error: "))
      << error;
  expect_error<DeviceError>([] { cuda::compile_module("", 35); },
                            "cuda: NVRTC has no code for compute capability 3.5. Without --fuse "
                            "nothing is compiled at run time.");
}

}  // namespace
}  // namespace plimsoll
