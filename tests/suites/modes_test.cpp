// One op, many ways to run it: eagerly, captured, checkpointed, in place, on the device without
// bytes. The bits are the same in all of them.
#include <set>

#include "autograd/checkpoint.h"
#include "autograd/no_grad.h"
#include "core/cpu/copy.h"
#include "core/cpu/parallel.h"
#include "core/engine/trace.h"
#include "memory/step/passes.h"
#include "memory/step/step.h"
#include "ops/ops.h"
#include "tests/suites/suite.h"

namespace plimsoll {
namespace {

void expect_same_bits(std::span<const Tensor> actual, std::span<const Tensor> expected,
                      const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t k = 0; k < actual.size(); ++k)
    EXPECT_TRUE(same_bits(actual[k], expected[k])) << what << ", result " << k;
}

StepFunction whole_case(const OpCase& c) {
  return [&c](std::span<const Tensor> in) { return outputs_and_gradients(c, in); };
}

// The case with each differentiable output computed inside a checkpoint.
OpCase checkpointed(const OpCase& c) {
  OpCase result = c;
  result.call = [call = c.call](std::span<const Tensor> in) {
    std::vector<Tensor> outputs;
    const size_t n = [&] {
      NoGrad scope;
      return call(in).size();
    }();
    for (size_t k = 0; k < n; ++k)
      outputs.push_back(checkpoint([call, k](auto xs) { return call(xs)[k]; }, in));
    return outputs;
  };
  return result;
}

PLIMSOLL_SUITE(Captured) {
  const OpCase& c = GetParam().op_case;
  for (const DType dtype : c.dtypes) {
    const std::vector<Tensor> inputs = make_inputs(c, dtype);
    const std::vector<Tensor> expected = outputs_and_gradients(c, inputs);
    Step step(whole_case(c));
    for (int run = 0; run < 2; ++run)  // the second run finds the arena dirty
      expect_same_bits(step.run(inputs), expected, cat(dtype, " run ", run));
  }
}

PLIMSOLL_SUITE(Checkpointed) {
  const OpCase& c = GetParam().op_case;
  if (!c.differentiable) return;
  const std::vector<Tensor> inputs = make_inputs(c, DType::f32);
  const std::vector<Tensor> expected = outputs_and_gradients(c, inputs);
  const OpCase again = checkpointed(c);
  expect_same_bits(outputs_and_gradients(again, inputs), expected, "eager");
  Step step(whole_case(again));
  expect_same_bits(step.run(inputs), expected, "captured");
}

// On the null device nothing runs, so the results' metas come from the shape rules alone.
PLIMSOLL_SUITE(ShapeRule) {
  const OpCase& c = GetParam().op_case;
  const std::vector<Tensor> inputs = make_inputs(c, DType::f32);
  std::vector<Tensor> abstract;
  for (Meta meta : [&] {
         Metas m;
         for (const Tensor& x : inputs) m.push_back(x.meta());
         return m;
       }()) {
    meta.device = Device::null;
    abstract.push_back(Tensor::empty(meta));
  }
  const std::vector<Tensor> actual = c.call(inputs), inferred = c.call(abstract);
  ASSERT_EQ(actual.size(), inferred.size());
  for (size_t k = 0; k < actual.size(); ++k) {
    Meta meta = actual[k].meta();
    if (!inputs.empty()) meta.device = Device::null;
    EXPECT_EQ(cat(inferred[k].meta()), cat(meta)) << "output " << k;
  }
}

// A tiny replayer of programs, independent of the planner: every buffer has memory of its own. With
// `in_place`, output 0 of every op that declares an in-place input starts as that input's memory.
class Interpreter {
 public:
  Interpreter(const Program& program, std::span<const Tensor> inputs, bool in_place)
      : memory_(program.buffers.size()) {
    for (size_t b = 0; b < program.buffers.size(); ++b) {
      const Buffer& buffer = program.buffers[b];
      if (buffer.kind == Buffer::Kind::external)
        data_.push_back(buffer.storage->data());
      else if (buffer.kind == Buffer::Kind::input)
        data_.push_back(static_cast<std::byte*>(view_of(inputs[data_.size()].value()).data));
      else {
        memory_[b].resize(static_cast<size_t>(buffer.bytes + kGranule), std::byte{0xff});
        data_.push_back(aligned(memory_[b].data()));
      }
    }
    for (const Instruction& instruction : program.instructions) run(instruction, in_place);
  }

  View view(const Operand& o) const {
    return {data_[static_cast<size_t>(o.buffer)] + o.offset * size_of(o.meta.dtype), o.meta,
            o.strides};
  }

 private:
  // Blocks start on a granule, as everywhere.
  static std::byte* aligned(std::byte* data) {
    const auto address = reinterpret_cast<uintptr_t>(data);
    return data + (kGranule - address % kGranule) % kGranule;
  }

  void run(const Instruction& instruction, bool in_place) {
    std::vector<View> in, out;
    for (const Operand& o : instruction.in) in.push_back(view(o));
    for (const Operand& o : instruction.out) out.push_back(view(o));
    const int k = instruction.op->inplace;
    if (in_place && k >= 0 && static_cast<size_t>(k) < in.size() &&
        bytes_of(in[k].meta) == bytes_of(out[0].meta) && in[k].contiguous()) {
      std::copy_n(in[k].as<std::byte>(), bytes_of(in[k].meta), out[0].as<std::byte>());
      in[k].data = out[0].data;
    }
    std::vector<std::byte> scratch(static_cast<size_t>(instruction.workspace + kGranule));
    bool work = out.empty();
    for (const View& o : out) work = work || count(o.shape()) > 0;
    if (work)
      kernel_for(*instruction.op, Device::cpu)(
          {in,
           out,
           instruction.attrs,
           {aligned(scratch.data()), static_cast<size_t>(instruction.workspace)}});
  }

  std::vector<std::vector<std::byte>> memory_;
  std::vector<std::byte*> data_;
};

Program captured_case(const OpCase& c, std::span<const Tensor> inputs) {
  Metas metas;
  for (const Tensor& x : inputs) metas.push_back(x.meta());
  return capture_live(whole_case(c), metas);
}

void expect_same_views(const View& a, const View& b, const char* what) {
  const int64_t size = size_of(a.dtype());
  for_each_offset(a.shape(), a.strides, [&](int64_t offset) {
    ASSERT_TRUE(std::equal(a.as<std::byte>() + offset * size,
                           a.as<std::byte>() + (offset + 1) * size,
                           b.as<std::byte>() + offset * size))
        << what;
  });
}

PLIMSOLL_SUITE(InPlace) {
  const OpCase& c = GetParam().op_case;
  const std::vector<Tensor> inputs = make_inputs(c, c.dtypes.front());
  const Program program = captured_case(c, inputs);
  const Interpreter plain(program, inputs, false), folded(program, inputs, true);
  for (const Operand& result : program.results)
    expect_same_views(plain.view(result), folded.view(result), "in place");
}

// Every op of the engine is reached by some case, forward or backward.
TEST(Coverage, EveryOpHasACase) {
  std::set<std::string> reached;
  for (const SuiteParam& param : all_cases()) {
    const OpCase& c = param.op_case;
    const std::vector<Tensor> inputs = make_inputs(c, c.dtypes.front());
    for (const Instruction& i : captured_case(c, inputs).instructions) reached.insert(i.op->name);
    std::vector<Tensor> leaves;  // view ops leave no instruction, but a node on the tape
    for (const Tensor& x : inputs) leaves.push_back(is_floating(x.dtype()) ? x.require_grad() : x);
    std::vector<std::shared_ptr<Node>> pending;
    for (const Tensor& y : c.call(leaves)) pending.push_back(y.edge().node);
    while (!pending.empty()) {
      const std::shared_ptr<Node> node = pending.back();
      pending.pop_back();
      if (!node || !node->op) continue;
      reached.insert(node->op->name);
      for (const Edge& edge : node->parents) pending.push_back(edge.node);
    }
  }
  for (const OpDef* op : all_ops()) EXPECT_TRUE(reached.contains(op->name)) << op->name;
}

struct BadParam {
  std::string family;
  BadCase bad;
};
void PrintTo(const BadParam& param, std::ostream* out) {
  *out << param.family << " " << param.bad.name;
}

std::vector<BadParam> all_bad_cases() {
  std::vector<BadParam> params;
  for (const OpFamily& family : all_families())
    for (const BadCase& bad : family.cases().bad) params.push_back({family.name, bad});
  return params;
}

class BadInput : public testing::TestWithParam<BadParam> {};
INSTANTIATE_TEST_SUITE_P(Ops, BadInput, testing::ValuesIn(all_bad_cases()), [](const auto& info) {
  return info.param.family + "_" + std::to_string(info.index);
});

TEST_P(BadInput, ThrowsItsSentence) {
  try {
    GetParam().bad.call();
    FAIL() << GetParam().bad.name << ": nothing was thrown";
  } catch (const Error& e) {
    EXPECT_EQ(e.what(), GetParam().bad.message);
  }
}

}  // namespace
}  // namespace plimsoll
