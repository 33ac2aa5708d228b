// What every op does with memory: it stays inside its blocks, relies on nothing it was not given,
// keeps what it declares, and gives the same bits on any number of threads.
#include <set>

#include "core/cpu/parallel.h"
#include "ops/ops.h"
#include "tests/suites/suite.h"
#include "tests/support/guard_allocator.h"

namespace plimsoll {
namespace {

void expect_same_bits(std::span<const Tensor> actual, std::span<const Tensor> expected,
                      const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t k = 0; k < actual.size(); ++k)
    EXPECT_TRUE(same_bits(actual[k], expected[k])) << what << ", result " << k;
}

// Bytes around every output and workspace untouched; outputs and workspace start as NaN and end
// as the same bits; freed memory is NaN; nothing is left over.
PLIMSOLL_SUITE(Guards) {
  const OpCase& c = GetParam().op_case;
  for (const DType dtype : c.dtypes) {
    const std::vector<Tensor> inputs = make_inputs(c, dtype);
    const std::vector<Tensor> expected = outputs_and_gradients(c, inputs);
    const auto guard = std::make_shared<GuardAllocator>();
    {
      const AllocatorScope scope(guard);
      expect_same_bits(outputs_and_gradients(c, inputs), expected, name_of(dtype));
    }
    EXPECT_EQ(guard->damaged(), 0) << name_of(dtype);
    EXPECT_EQ(guard->live(), 0) << name_of(dtype);
  }
}

PLIMSOLL_SUITE(Threads) {
  const OpCase& c = GetParam().op_case;
  const int before = num_threads();
  const PieceScope pieces(4);  // many of them, even here
  for (const DType dtype : c.dtypes) {
    const std::vector<Tensor> inputs = make_inputs(c, dtype);
    set_num_threads(1);
    const std::vector<Tensor> expected = outputs_and_gradients(c, inputs);
    for (const int threads : {2, 3}) {
      set_num_threads(threads);
      expect_same_bits(outputs_and_gradients(c, inputs), expected,
                       cat(name_of(dtype), ", ", threads, " threads"));
    }
  }
  set_num_threads(before);
}

// Inputs that are strided views give what contiguous ones give.
PLIMSOLL_SUITE(Strided) {
  const OpCase& c = GetParam().op_case;
  const std::vector<Tensor> inputs = make_inputs(c, DType::f64);
  std::vector<Tensor> strided;
  for (const Tensor& x : inputs) strided.push_back(as_strided_copy(x));
  const std::vector<Tensor> expected = outputs_and_gradients(c, inputs);
  const std::vector<Tensor> actual = outputs_and_gradients(c, strided);
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t k = 0; k < actual.size(); ++k) {
    ASSERT_EQ(actual[k].shape(), expected[k].shape());
    EXPECT_LE(relative_error(to_array(actual[k]), to_array(expected[k])), 1e-12) << "result " << k;
  }
}

// Storages that the tape below these tensors holds on to.
std::set<const Storage*> kept_by_tape(std::span<const Tensor> outputs) {
  std::set<const Storage*> kept;
  std::set<const Node*> seen;
  std::vector<std::shared_ptr<Node>> pending;
  for (const Tensor& y : outputs) pending.push_back(y.edge().node);
  while (!pending.empty()) {
    const std::shared_ptr<Node> node = pending.back();
    pending.pop_back();
    if (!node || !seen.insert(node.get()).second) continue;
    for (const auto* values : {&node->in, &node->out})
      for (const Value& value : *values)
        if (value.storage) kept.insert(value.storage.get());
    for (const Edge& edge : node->parents) pending.push_back(edge.node);
  }
  return kept;
}

// Inputs that no op declared as saved are overwritten with NaN after the forward pass.
PLIMSOLL_SUITE(Poison) {
  OpCase c = GetParam().op_case;
  if (!c.differentiable) return;
  const std::vector<Tensor> expected = outputs_and_gradients(c, make_inputs(c, DType::f64));
  const std::vector<Tensor> inputs = make_inputs(c, DType::f64);
  c.call = [call = c.call, &inputs](std::span<const Tensor> leaves) {
    std::vector<Tensor> outputs = call(leaves);
    const std::set<const Storage*> kept = kept_by_tape(outputs);
    std::set<const Storage*> visible;  // an output may be a view of an input
    for (Tensor& y : outputs) visible.insert(y.value().storage.get());
    for (const Tensor& x : inputs) {
      const Storage* storage = x.value().storage.get();
      if (is_floating(x.dtype()) && !kept.contains(storage) && !visible.contains(storage))
        std::fill_n(x.data<double>(), x.count(), std::nan(""));
    }
    return outputs;
  };
  expect_same_bits(outputs_and_gradients(c, inputs), expected, "poisoned");
}

// Nothing survives a forward and backward pass: not a node, not a storage.
PLIMSOLL_SUITE(Leaks) {
  const OpCase& c = GetParam().op_case;
  const int64_t nodes = Node::live(), storages = Storage::live();
  outputs_and_gradients(c, make_inputs(c, DType::f64));
  EXPECT_EQ(Node::live(), nodes);
  EXPECT_EQ(Storage::live(), storages);
}

}  // namespace
}  // namespace plimsoll
