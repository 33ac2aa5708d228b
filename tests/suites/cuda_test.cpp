// Every op on a GPU against the CPU: each case is captured with its gradients, and each instruction
// of the program runs on both devices with the same inputs. Skipped by name where there is no GPU;
// simulated_cuda_tests runs it everywhere.
#include <cstring>

#include "autograd/no_grad.h"
#include "core/cpu/parallel.h"
#include "core/cuda/seam/cuda.h"
#include "core/engine/trace.h"
#include "memory/passes/widen_late.h"
#include "memory/step/passes.h"
#include "ops/ops.h"
#include "tests/suites/suite.h"

namespace plimsoll {
namespace {

using Bytes = std::vector<std::byte>;

constexpr int64_t kGuard = 256;  // bytes around every block on the device
constexpr auto kCanary = std::byte{0xa5}, kPoison = std::byte{0xff};  // all ones is NaN

// Memory of the device between guards, filled with NaN or with a copy.
class Block {
 public:
  explicit Block(int64_t bytes) : bytes_(bytes) {
    data_ = static_cast<std::byte*>(cuda_api().allocate(bytes + 2 * kGuard));
    Bytes image(static_cast<size_t>(bytes + 2 * kGuard), kCanary);
    std::fill_n(image.begin() + kGuard, bytes, kPoison);
    cuda_api().copy(data_, image.data(), bytes + 2 * kGuard, CudaCopy::in);
  }
  explicit Block(const Bytes& contents) : Block(static_cast<int64_t>(contents.size())) {
    if (bytes_ > 0) cuda_api().copy(data(), contents.data(), bytes_, CudaCopy::in);
  }
  ~Block() { cuda_api().release(data_); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  std::byte* data() const { return data_ + kGuard; }
  Bytes contents() const {
    Bytes image = whole();
    return {image.begin() + kGuard, image.begin() + kGuard + bytes_};
  }
  bool intact() const {
    const Bytes image = whole();
    const auto canary = [](std::byte b) { return b == kCanary; };
    return std::all_of(image.begin(), image.begin() + kGuard, canary) &&
           std::all_of(image.end() - kGuard, image.end(), canary);
  }

 private:
  Bytes whole() const {
    Bytes image(static_cast<size_t>(bytes_ + 2 * kGuard));
    cuda_api().copy(image.data(), data_, static_cast<int64_t>(image.size()), CudaCopy::out);
    return image;
  }
  std::byte* data_;
  int64_t bytes_;
};

Array values_of(const View& view) {
  Meta meta = view.meta;
  meta.device = Device::cpu;
  const Tensor copy = Tensor::empty(meta);
  std::memcpy(view_of(copy.value()).data, view.data, static_cast<size_t>(bytes_of(meta)));
  return to_array(copy);
}

// Runs a program on the CPU, every buffer in memory of its own, and on the way each instruction on
// the device as well.
class Comparison {
 public:
  Comparison(const Program& program, std::span<const Tensor> inputs, double tolerance)
      : tolerance_(tolerance) {
    size_t input = 0;
    for (const Buffer& buffer : program.buffers) {
      memory_.emplace_back(static_cast<size_t>(buffer.bytes), kPoison);
      const std::byte* from = nullptr;
      int64_t bytes = buffer.bytes;
      if (buffer.kind == Buffer::Kind::external) from = buffer.storage->data();
      if (buffer.kind == Buffer::Kind::input) {
        from = static_cast<std::byte*>(view_of(inputs[input].value()).data);
        bytes = bytes_of(inputs[input++].meta());
      }
      if (from) std::copy_n(from, bytes, memory_.back().begin());
    }
    for (const Instruction& instruction : program.instructions) run(instruction);
  }

 private:
  static View look(std::byte* base, const Operand& o, Device device) {
    Meta meta = o.meta;
    meta.device = device;
    return {base + o.offset * size_of(meta.dtype), meta, o.strides};
  }

  void run(const Instruction& instruction) {
    const OpDef& op = *instruction.op;
    bool work = instruction.out.empty();
    for (const Operand& o : instruction.out) work = work || count(o.meta.shape) > 0;
    if (!work) return;
    if (op.cuda) run_on_device(instruction);
    std::vector<View> in, out;
    for (const Operand& o : instruction.in)
      in.push_back(look(memory_[o.buffer].data(), o, Device::cpu));
    for (const Operand& o : instruction.out)
      out.push_back(look(memory_[o.buffer].data(), o, Device::cpu));
    Bytes scratch(static_cast<size_t>(instruction.workspace));
    op.cpu({in, out, instruction.attrs, scratch});
    if (op.cuda) compare(instruction);
  }

  void run_on_device(const Instruction& instruction) {
    blocks_.clear();
    std::vector<View> in, out;
    for (const Operand& o : instruction.in) {
      blocks_.push_back(std::make_unique<Block>(memory_[o.buffer]));
      in.push_back(look(blocks_.back()->data(), o, Device::cuda));
    }
    for (const Operand& o : instruction.out) {
      blocks_.push_back(std::make_unique<Block>(static_cast<int64_t>(memory_[o.buffer].size())));
      out.push_back(look(blocks_.back()->data(), o, Device::cuda));
    }
    const int64_t bytes = workspace_bytes(*instruction.op, {in, out, instruction.attrs, {}});
    blocks_.push_back(std::make_unique<Block>(bytes));
    instruction.op->cuda(
        {in, out, instruction.attrs, {blocks_.back()->data(), static_cast<size_t>(bytes)}});
    cuda_api().synchronize();
  }

  // Outputs, and inputs that were written in place; all others must be as they were.
  void compare(const Instruction& instruction) {
    size_t block = 0;
    for (size_t i = 0; i < instruction.in.size(); ++i)
      compare(instruction, instruction.in[i], *blocks_[block++], cat("input ", i));
    for (size_t k = 0; k < instruction.out.size(); ++k)
      compare(instruction, instruction.out[k], *blocks_[block++], cat("output ", k));
    EXPECT_TRUE(blocks_[block]->intact()) << instruction.op->name << ": around its workspace";
  }

  void compare(const Instruction& instruction, const Operand& operand, const Block& block,
               const std::string& what) {
    EXPECT_TRUE(block.intact()) << instruction.op->name << ": around " << what;
    Bytes actual = block.contents();
    const Bytes& expected = memory_[operand.buffer];
    if (actual == expected) return;
    const Operand whole = whole_buffer(operand);
    const bool output = row_major(operand.meta.shape) == operand.strides && operand.offset == 0;
    const Operand& compared = output ? operand : whole;
    Bytes& mutable_expected = memory_[operand.buffer];
    Array a = values_of(look(actual.data(), compared, Device::cpu));
    Array b = values_of(look(mutable_expected.data(), compared, Device::cpu));
    // What cancels to nearly nothing is as good as the numbers that it was computed from.
    a.values.push_back(1e-3 * largest_input(instruction));
    b.values.push_back(a.values.back());
    const double error = relative_error(a, b);
    EXPECT_LE(error, is_floating(operand.meta.dtype) ? tolerance_ : 0)
        << instruction.op->name << ": " << what << " " << cat(operand.meta);
  }

  double largest_input(const Instruction& instruction) {
    double largest = 0;
    for (const Operand& o : instruction.in) {
      if (!is_floating(o.meta.dtype)) continue;
      const View view = look(memory_[o.buffer].data(), whole_buffer(o), Device::cpu);
      for (const double v : values_of(view).values)
        if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
    }
    return largest;
  }

  Operand whole_buffer(const Operand& o) const {
    const auto bytes = static_cast<int64_t>(memory_[o.buffer].size());
    return {o.buffer, {{bytes / size_of(o.meta.dtype)}, o.meta.dtype}, {1}, 0};
  }

  const double tolerance_;
  std::vector<Bytes> memory_;
  std::vector<std::unique_ptr<Block>> blocks_;  // of the instruction that runs
};

double tolerance_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return 1e-12;
    case DType::f16:
      return 5e-3;
    case DType::bf16:
      return 2e-2;
    default:
      return 5e-6;
  }
}

void compare_devices(const OpCase& c, DType dtype) {
  SCOPED_TRACE(cat(dtype));
  const std::vector<Tensor> inputs = make_inputs(c, dtype);
  Metas metas;
  for (const Tensor& x : inputs) metas.push_back(x.meta());
  const Program program =
      capture_live([&](std::span<const Tensor> in) { return outputs_and_gradients(c, in); }, metas);
  Comparison(program, inputs, tolerance_of(dtype) * c.tolerance);
}

PLIMSOLL_SUITE(Cuda) {
  if (const std::string why = why_no_cuda(); !why.empty()) GTEST_SKIP() << why;
  const OpCase& c = GetParam().op_case;
  for (const DType dtype : c.dtypes) compare_devices(c, dtype);
  SCOPED_TRACE("in small pieces");  // which large tensors are cut into
  const PieceScope pieces(4);
  compare_devices(c, c.dtypes.front());
}

TEST(CudaUpdates, AreLeftOutWhereSkipIsTrue) {
  if (const std::string why = why_no_cuda(); !why.empty()) GTEST_SKIP() << why;
  for (const uint8_t skip : {0, 1}) {
    const int64_t step = skip ? 0 : 3;  // a step that is left out may be the first
    const Tensor x = Tensor::of<float>({1, 2, 3, 4, 5, 6, 7, 8}, {2, 4});
    const std::vector<Tensor> inputs{x,
                                     x,
                                     x,
                                     Tensor::of<int64_t>({step}, {}),
                                     Tensor::of<float>({0.1f}, {}),
                                     Tensor::of<uint8_t>({skip}, {})};
    Metas metas;
    for (const Tensor& input : inputs) metas.push_back(input.meta());
    const Program program = capture(
        [](std::span<const Tensor> in) {
          const NoGrad scope;
          sgd_update(in[0], in[1], in[2], in[3], in[4], {.momentum = 0.9},
                     cast(in[5], DType::boolean));
          return std::vector<Tensor>{};
        },
        metas);
    Comparison(program, inputs, 1e-6);
  }
}

// What was captured in f32 and is read in 16 bits (memory/passes/widen_late.h).
TEST(CudaWidens, AsTheCpuDoes) {
  if (const std::string why = why_no_cuda(); !why.empty()) GTEST_SKIP() << why;
  const Shape shape{3, 167};
  const Tensor step = Tensor::of<int64_t>({2}, {}), rate = full({}, 0.1), scale = full({}, 4);
  const Tensor weight = full({}, 0.3, {.dtype = DType::f64}), part = Tensor::of<int64_t>({0}, {1});
  std::vector<Tensor> held;
  for (uint64_t k = 0; k < 5; ++k) held.push_back(uniform(shape, 0, 1, k + 1));
  std::vector<CodedSlot> coded;
  for (int k = 0; k < 2; ++k)
    coded.push_back({clone(zeros(shape, {.dtype = DType::u8})), clone(zeros({2}))});
  const StepFunction f = [&](std::span<const Tensor> in) {
    const NoGrad scope;
    const std::vector<Tensor> g{cast(in[0], DType::f32)};
    sgd_update(held[0], g[0], held[1], step, rate, {.momentum = 0.9});
    adam8_update(held[2], g[0], coded[0], coded[1], step, rate);
    accumulate(held[3], g[0], weight, weight, {.first = true});
    accumulate_tree(std::array{held[4]}, g[0], weight, part, {});
    return std::vector{sums_of_squares(g, 64), scale_to_norm(g[0], full({}, 3), 1), nonfinite(g),
                       unscale(g[0], scale)};
  };
  for (const DType dtype : {DType::bf16, DType::f16}) {
    const Tensor x = cast(normal(shape, 0, 1, 9), dtype);
    const Program captured = capture(f, std::array{x.meta()}), program = widen_late(captured);
    EXPECT_EQ(program.instructions.size() + 1, captured.instructions.size());  // no cast
    Comparison(program, std::array{x}, 1e-5);
  }
}

TEST(CudaCoverage, EveryOpHasAKernel) {
  if (const std::string why = why_no_cuda(); !why.empty()) GTEST_SKIP() << why;
  std::string missing;
  for (const OpDef* op : all_ops())
    if (!op->view && !op->cuda) missing += cat(" ", op->name);
  EXPECT_EQ(missing, "");
}

}  // namespace
}  // namespace plimsoll
