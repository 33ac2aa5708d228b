// Fusion on a GPU: what kernels are generated from groups, and that fused steps have the bits of
// plain ones. Runs on a device where there is one, and in the simulation, which compiles the
// kernels with the compiler of the host.
#include <algorithm>
#include <set>

#include "core/apply.h"
#include "core/cuda.h"
#include "core/operands.h"
#include "memory/step.h"
#include "tests/fused_kernels.h"

namespace plimsoll {
namespace {

using namespace fused_programs;
using fusion::Fused;

TEST(FusedKernels, AreWrittenFromTheirMembers) {
  const auto text = [](auto f) {
    return kernel_text(only_group(fused_program(f, {on_cuda({8, 256}), on_cuda({256})}))).body;
  };
  EXPECT_EQ(text([](auto in) { return std::vector{relu(in[0] + in[1])}; }),
            R"(  const auto f0 = element::Binary<formulas::Add>{};
  const auto f1 = element::Unary<formulas::Relu>{};
  element::each<4, uint32_t>(arguments, 2048, [&]<int P>(uint32_t i) {
    const auto in0 = element::load<float, P>(arguments.at[0], i);
    const auto in1 = element::load<float, P>(arguments.at[1], i % 256u);
    element::Pack<float, P> out0;
    for (int j = 0; j < P; ++j) {
      const float v0 = f0(in0.at[j], in1.at[j]);
      const float v1 = f1(v0);
      out0.at[j] = v1;
    }
    element::store(arguments.at[2], i, out0);
  });
)");
  EXPECT_TRUE(contains(text([](auto in) { return std::vector{0.5 * (in[0] + in[1])}; }),
                       "f1 = element::Unary<formulas::Affine>{constants<AffineAttrs>("
                       "{4602678819172646912u, 9223372036854775808u})};"));
}

TEST(FusedKernels, MoveSixteenBytesWhereTheyCan) {
  const auto packs = [](const Shape& shape, const Shape& other, DType dtype) {
    return together(
        only_group(fused_program([](auto in) { return std::vector{relu(in[0] + in[1])}; },
                                 {on_cuda(shape, dtype), on_cuda(other, dtype)})));
  };
  EXPECT_EQ(packs({6, 64}, {6, 64}, DType::f32), 4);
  EXPECT_EQ(packs({6, 64}, {6, 64}, DType::bf16), 8);
  EXPECT_EQ(packs({6, 64}, {64}, DType::bf16), 8);
  EXPECT_EQ(packs({6, 64}, {6, 64}, DType::f64), 2);
  EXPECT_EQ(packs({5, 7}, {5, 7}, DType::f32), 4);  // and three elements one by one
  EXPECT_EQ(packs({6, 10}, {10}, DType::f32), 2);   // a pack lies within a row
  EXPECT_EQ(packs({6, 7}, {6, 1}, DType::f32), 1);
}

TEST(FusedKernels, OneThatIsTheSameIsNotWrittenTwice) {
  const auto kernel = [](int64_t n) {
    const Program program = fused_program([](auto in) { return std::vector{relu(in[0] + in[1])}; },
                                          {on_cuda({n}), on_cuda({n})});
    return only_group(program).kernel;
  };
  EXPECT_EQ(kernel(96), kernel(96));
  EXPECT_NE(kernel(96), kernel(97));
}

TEST(FusedKernels, LayersShareTheOneOfDropout) {
  const auto fused = [](uint64_t site) {
    const Program program =
        fused_program([&](auto in) { return std::vector{relu(dropout(in[0], 0.5, in[1], site))}; },
                      {on_cuda({96}), on_cuda({2}, DType::i64)});
    return only_group(program);
  };
  EXPECT_EQ(fused(7).kernel, fused(8).kernel);
  EXPECT_EQ(fused(7).words, (std::vector{std::bit_cast<uint64_t>(0.5), uint64_t{7}}));
  EXPECT_EQ(fused(8).words, (std::vector{std::bit_cast<uint64_t>(0.5), uint64_t{8}}));
  EXPECT_TRUE(contains(fused(7).kernel->text,
                       "element::Dropout{constants<DropoutAttrs>({arguments.words[0], "
                       "arguments.words[1]}), static_cast<const int64_t*>(arguments.at[1])};"));
}

TEST(FusedKernels, LargeTensorsCountInSixtyFourBits) {
  const auto text = [](int64_t rows) {
    return kernel_text(only_group(fused_program(
                           [](auto in) { return std::vector{relu(cast(in[0], DType::bf16))}; },
                           {on_cuda({rows, 1 << 20})})))
        .body;
  };
  EXPECT_TRUE(contains(text(2047), "uint32_t i"));
  EXPECT_TRUE(contains(text(2048), "int64_t i"));
}

TEST(FusedKernels, OpsThatJoinOrHaveNoFormulaStayAlone) {
  const auto fused = [](auto f) { return names(fused_program(f, {on_cuda({4, 8})})); };
  EXPECT_EQ(fused([](auto in) { return std::vector{relu(sin(relu(-in[0])))}; }),
            "affine+relu sin relu");
  EXPECT_EQ(fused([](auto in) {
              const Tensor norm = global_norm(std::array{in[0]});
              return std::vector{relu(scale_to_norm(relu(in[0]), norm, 1))};
            }),
            "global_norm relu scale_to_norm relu");
}

TEST(FusedKernels, EveryOpThatIsTiledHasOne) {
  const std::set<std::string> alone{"div_trunc"};  // integers that are divided by zero are a fault
  for (const OpDef* op : all_ops()) {
    const bool can_be_fused =
        (op->tiling != Tiling::none || fusion::sums_columns(*op)) && !op->joins;
    EXPECT_EQ(op->code != nullptr, can_be_fused && !alone.contains(op->name)) << op->name;
  }
}

TEST(FusedKernels, ProgramsStayAsTheyAreWhereNoneCanRun) {
  const Program program = remove_dead(
      capture([](std::span<const Tensor> in) { return std::vector{relu(in[0] + in[1])}; },
              Metas(2, on_cuda({96}))));
  const Program fused = fuse(program, kFuseAll);
  EXPECT_EQ(fused.instructions.size(), why_no_kernels().empty() ? 1u : 2u);
  EXPECT_EQ(fuse(program, {.rows = true}), program);  // no op over rows is among them
}

// A tiny replayer on the device: every buffer has memory of its own.
class OnCuda {
 public:
  OnCuda(const Program& program, std::span<const Tensor> inputs) {
    size_t input = 0;
    for (const Buffer& buffer : program.buffers) {
      memory_.push_back(static_cast<std::byte*>(cuda_api().allocate(buffer.bytes + 1)));
      const std::byte* from = nullptr;
      if (buffer.kind == Buffer::Kind::external) from = buffer.storage->data();
      if (buffer.kind == Buffer::Kind::input)
        from = static_cast<std::byte*>(view_of(inputs[input++].value()).data);
      if (from) cuda_api().copy(memory_.back(), from, buffer.bytes, CudaCopy::in);
    }
    for (const Instruction& instruction : program.instructions) run(instruction);
  }
  ~OnCuda() {
    for (std::byte* block : memory_) cuda_api().release(block);
  }
  OnCuda(const OnCuda&) = delete;
  OnCuda& operator=(const OnCuda&) = delete;

  // All of the buffer that an operand looks into.
  std::vector<std::byte> contents(const Program& program, const Operand& o) const {
    std::vector<std::byte> bytes(static_cast<size_t>(program.buffers[o.buffer].bytes));
    cuda_api().copy(bytes.data(), memory_[o.buffer], std::ssize(bytes), CudaCopy::out);
    return bytes;
  }

 private:
  void run(const Instruction& instruction) {
    std::vector<View> in, out;
    bool work = instruction.out.empty();
    const auto look = [&](const Operand& o, std::vector<View>& views) {
      std::byte* const base = memory_[o.buffer] + o.offset * size_of(o.meta.dtype);
      views.push_back({base, o.meta, o.strides});
    };
    for (const Operand& o : instruction.in) look(o, in);
    for (const Operand& o : instruction.out) {
      look(o, out);
      work = work || count(o.meta.shape) > 0;
    }
    if (!work) return;
    const int64_t bytes = instruction.workspace;
    auto* const scratch = static_cast<std::byte*>(cuda_api().allocate(bytes + 1));
    kernel_for(*instruction.op,
               Device::cuda)({in, out, instruction.attrs, {scratch, static_cast<size_t>(bytes)}});
    cuda_api().synchronize();
    cuda_api().release(scratch);
  }

  std::vector<std::byte*> memory_;
};

// Every case of every op with its gradients, each op that is tiled in a generated kernel, if only
// alone: ops over rows in f32.
TEST(FusedOnCuda, EveryOpHasItsBits) {
  if (const std::string why = why_no_kernels(); !why.empty()) GTEST_SKIP() << why;
  struct Trial {
    std::string name;
    std::vector<Tensor> inputs;
    Program plain, fused;
  };
  std::vector<Trial> trials;
  std::vector<const GeneratedKernel*> kernels;
  std::set<std::string> reached;
  for (const SuiteParam& param : all_cases()) {
    const OpCase& c = param.op_case;
    std::vector<Tensor> inputs;
    const auto captured = [&](DType dtype) {
      inputs = make_inputs(c, dtype);
      Metas metas;
      for (const Tensor& x : inputs) metas.push_back(x.meta());
      const auto f = [&](std::span<const Tensor> in) { return outputs_and_gradients(c, in); };
      Program program = moved_to_cuda(remove_dead(capture(f, metas)));
      for (Instruction& i : program.instructions) i.workspace = workspace_of(i);
      return program;
    };
    Program plain = captured(c.dtypes.front());
    const auto over_rows = [](const Instruction& i) { return i.op->tiling == Tiling::rows; };
    if (std::ranges::any_of(plain.instructions, over_rows) &&
        std::ranges::count(c.dtypes, DType::f32) > 0)
      plain = captured(DType::f32);
    const bool runs = std::ranges::all_of(
        plain.instructions, [](const Instruction& i) { return i.op->cuda != nullptr; });
    const auto groups = fusion::find_groups(plain, kFuseAll, /*least_members=*/1);
    if (groups.empty() || !runs) continue;
    trials.push_back(
        {cat(param.family, " ", c.name), inputs, plain, fusion::rewrite(plain, groups)});
    for (const Instruction& i : trials.back().fused.instructions)
      if (fusion::is_fused(i)) {
        kernels.push_back(i.attrs.as<Fused>().kernel);
        for (const fusion::Member& member : i.attrs.as<Fused>().members)
          reached.insert(member.op->name);
      }
  }
  ASSERT_TRUE(compile_generated(kernels));
  for (const Trial& trial : trials) {
    const OnCuda plain(trial.plain, trial.inputs), fused(trial.fused, trial.inputs);
    for (size_t k = 0; k < trial.plain.results.size(); ++k)
      EXPECT_EQ(plain.contents(trial.plain, trial.plain.results[k]),
                fused.contents(trial.fused, trial.fused.results[k]))
          << trial.name << ": result " << k;
  }
  for (const OpDef* op : all_ops())
    EXPECT_EQ(reached.contains(op->name), op->code && !op->joins) << op->name;
}

// All kernels at once: a compiler is started for each module.
TEST(FusedOnCuda, RandomProgramsLeaveTheSameBits) {
  if (const std::string why = why_no_kernels(); !why.empty()) GTEST_SKIP() << why;
  constexpr uint32_t kPrograms = 120;
  struct Trial {
    uint32_t seed;
    RandomProgram function;
    std::vector<Tensor> inputs;
    Metas metas;
  };
  std::vector<Trial> trials;
  std::vector<const GeneratedKernel*> kernels;
  int64_t members = 0, groups = 0;
  for (uint32_t seed = 0; seed < kPrograms; ++seed) {
    std::mt19937 random(seed + 1'000'000);
    const auto size = [&](uint32_t most) { return static_cast<int64_t>(random() % most); };
    const int64_t width = seed % 2 ? 8 * (1 + size(10)) : 1 + size(80);
    const Shape shape{1 + size(4), 1 + size(9), width};
    Trial trial{seed, {seed, shape}, {}, {}};
    for (const Tensor& x :
         {uniform(shape, -2, 2, seed), normal(shape, 0, 1, seed + 1), make_key(seed, 3)}) {
      trial.inputs.push_back(to_device(x, Device::cuda));
      trial.metas.push_back(trial.inputs.back().meta());
    }
    for (const Instruction& i : fused_program(trial.function, trial.metas).instructions)
      if (fusion::is_fused(i)) {
        kernels.push_back(i.attrs.as<Fused>().kernel);
        members += std::ssize(i.attrs.as<Fused>().members);
        ++groups;
      }
    trials.push_back(std::move(trial));
  }
  ASSERT_TRUE(compile_generated(kernels));
  EXPECT_GT(groups, kPrograms / 2);
  EXPECT_GT(members, 2 * groups);
  int ran = 0;
  for (const Trial& trial : trials) {
    SCOPED_TRACE(trial.seed);
    Step plain{StepFunction(trial.function)};
    Step fused{StepFunction(trial.function), {.fusion = kFuseAll}};
    EXPECT_LE(fused.plan(trial.metas).arena_bytes, plain.plan(trial.metas).arena_bytes);
    for (const Instruction& i : fused.program(trial.metas).instructions) ran += fusion::is_fused(i);
    const std::vector<Tensor> expected = plain.run(trial.inputs), actual = fused.run(trial.inputs);
    for (size_t k = 0; k < expected.size(); ++k) expect_same_bits(actual[k], expected[k]);
    if (HasFailure()) break;
  }
  EXPECT_GT(ran, groups / 2);
}

// By two members of one kernel.
TEST(FusedOnCuda, AnInputMayBeARowAndAColumn) {
  if (const std::string why = why_no_kernels(); !why.empty()) GTEST_SKIP() << why;
  const auto twice = [](std::span<const Tensor> in) {
    const Tensor as_column = relu(in[0] + in[1]);                     // [8, 8] + [8, 1]
    return std::vector{relu(reshape(as_column, {8, 8, 1}) + in[1])};  // [8, 8, 1] + [8, 1]
  };
  const std::vector<Tensor> inputs{uniform({8, 8}, -1, 1, 5, {.device = Device::cuda}),
                                   uniform({8, 1}, -1, 1, 6, {.device = Device::cuda})};
  Step plain{StepFunction(twice)}, fused{StepFunction(twice), {.fusion = kFuseAll}};
  EXPECT_EQ(fused.plan({inputs[0].meta(), inputs[1].meta()}).instructions, 1);
  expect_same_bits(fused.run(inputs)[0], plain.run(inputs)[0]);
}

// A view as input need not lie on the boundary of a pack.
TEST(FusedOnCuda, InputsMayLieAnywhere) {
  if (const std::string why = why_no_kernels(); !why.empty()) GTEST_SKIP() << why;
  const auto chain = [](const Tensor& x) { return relu(2.0 * x + x); };
  Step fused(chain, {.fusion = kFuseAll});
  const Tensor all = uniform({33}, -1, 1, 5, {.device = Device::cuda});
  for (int64_t first = 0; first < 4; ++first) {
    const Tensor x = slice(all, 0, first, first + 29);
    EXPECT_EQ(fused.plan({x.meta()}).instructions, 1);
    expect_same_bits(fused(x), chain(x));
  }
}

}  // namespace
}  // namespace plimsoll
