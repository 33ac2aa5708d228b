// The model of two lanes: by hand on small programs, and against published figures of how a large
// model trains on more and more GPUs.
#include "memory/step/lanes.h"

#include <numeric>

#include "core/ranks/planned_ranks.h"
#include "memory/passes/early_update.h"
#include "memory/passes/talk_early.h"
#include "ops/collective/all_gather/all_gather.h"
#include "ops/shape/view/view.h"
#include "tests/support/memory_ops.h"

namespace plimsoll {
namespace {

using namespace memory_test;

constexpr int64_t kRanks = 4, kCount = 250;  // each all_gather receives 3,000 bytes from others

// Two gradients of one second each, whose sums are exchanged, and two updates of half a second.
Program two_exchanges() {
  static PlannedRanks ranks(0, kRanks);
  const RanksScope scope(&ranks);
  static const Tensor sums[] = {ramp(kCount), ramp(kCount)}, state[] = {ramp(kCount), ramp(kCount)};
  return capture(
      [&](std::span<const Tensor> in) {
        Tensor grad = in[0];
        for (const Tensor& sum : sums) add_to(sum, grad = flip(grad));
        for (int i = 0; i < 2; ++i)
          add_to(state[i], reshape(slice(all_gather(sums[i]), 0, 0, 1), {kCount}));
        return std::vector{grad};
      },
      std::array{vec(kCount, Device::cpu)});
}

std::vector<double> seconds_of(const Program& program) {
  std::vector<double> seconds;
  for (const Instruction& instruction : program.instructions)
    seconds.push_back(instruction.op == &flip_op ? 1 : 0.25);  // two that add, of the four
  return seconds;
}

Lanes lanes(const Program& program, double seconds_of_each, double latency = 0) {
  const Link link{.ranks = kRanks, .bytes_per_second = 3000 / seconds_of_each, .latency = latency};
  return two_lanes(program, seconds_of(program), link);
}

TEST(TwoLanes, WaitWhereNothingIsLeftToCompute) {
  const Program blocking = two_exchanges(), beside = talk_early(update_early(blocking));
  // flip, add, start, flip, add, start, wait, update, wait, update
  const Lanes fast = lanes(beside, 1);
  EXPECT_DOUBLE_EQ(fast.computing, 3);
  EXPECT_DOUBLE_EQ(fast.talking, 2);
  EXPECT_DOUBLE_EQ(fast.exposed, 1 - 0.25);  // the last exchange, less the first update
  EXPECT_DOUBLE_EQ(fast.seconds, 3.75);
  const Lanes slow = lanes(beside, 10);  // from 1.25 on nothing but the network
  EXPECT_DOUBLE_EQ(slow.seconds, 1.25 + 20 + 0.25);
  const Lanes late = lanes(beside, 10, 2);
  EXPECT_DOUBLE_EQ(late.seconds, slow.seconds + 2 * 2);
}

TEST(TwoLanes, ExposeAllOfWhatIsNotMovedApart) {
  const Lanes all = lanes(two_exchanges(), 1);
  EXPECT_DOUBLE_EQ(all.exposed, 2);
  EXPECT_DOUBLE_EQ(all.seconds, 5);
}

TEST(TwoLanes, OfNoLinkOnlyCompute) {
  const Program program = two_exchanges();
  const Lanes alone = two_lanes(program, seconds_of(program), {});
  EXPECT_DOUBLE_EQ(alone.seconds, 3);
  EXPECT_EQ(alone.talking, 0);
}

// ---- published figures

constexpr OpDef compute_op{.name = "compute", .infer = same_as_input};
constexpr Talk start_talk{.later = bits(0)}, wait_talk;
constexpr OpDef start_op{.name = "start", .infer = same_as_input, .talk = &start_talk};
constexpr OpDef wait_op{
    .name = "wait", .infer = same_as_input, .mutates = bits(1), .talk = &wait_talk};

// A step of fully sharded training, as torchtitan runs it: each layer's weights are gathered while
// the layer before is computed, forwards and backwards again, and its gradients are exchanged
// while the next is.
class ShardedStep {
 public:
  // `weights`: of each layer. They are gathered in 2 bytes, gradients exchanged in 4.
  ShardedStep(const std::vector<int64_t>& weights, double computing) {
    const auto layers = static_cast<int>(weights.size());
    const auto total =
        static_cast<double>(std::accumulate(weights.begin(), weights.end(), int64_t{0}));
    std::vector<int> order(weights.size());  // forwards, then backwards
    std::iota(order.begin(), order.end(), 0);
    for (int layer = layers; layer-- > 0;) order.push_back(layer);
    std::vector<int> gathered, reduced;
    const auto gather = [&](size_t k) {
      if (k < order.size()) gathered.push_back(start(2 * weights[static_cast<size_t>(order[k])]));
    };
    gather(0);
    for (size_t k = 0; k < order.size(); ++k) {
      wait(gathered[k]);
      gather(k + 1);
      const int64_t n = weights[static_cast<size_t>(order[k])];
      const bool backwards = k >= weights.size();
      add({.op = &compute_op},
          computing * (backwards ? 2 : 1) / 3 * static_cast<double>(n) / total);
      if (backwards) reduced.push_back(start(4 * n));
    }
    for (const int buffer : reduced) wait(buffer);
  }

  Lanes on(int64_t ranks, double bytes_per_second) const {
    return two_lanes(program_, seconds_, {ranks, bytes_per_second, 50e-6});
  }

 private:
  Operand bytes(int64_t n) { return {buffers_, {{n}, DType::u8, Device::null}, Strides{1}}; }
  void add(Instruction instruction, double seconds = 0) {
    program_.instructions.push_back(std::move(instruction));
    seconds_.push_back(seconds);
  }
  int start(int64_t n) {
    add({.op = &start_op, .out = {bytes(n)}});
    return buffers_++;
  }
  void wait(int buffer) {
    Operand received = bytes(1);
    received.buffer = buffer;
    add({.op = &wait_op, .in = {received, received}});
  }

  Program program_;
  std::vector<double> seconds_;
  int buffers_ = 0;
};

// Llama 3.1 8B: 32 blocks, the embedding before and the head behind them.
std::vector<int64_t> llama_8b() {
  std::vector<int64_t> weights(34, 218'112'000);
  weights.front() = weights.back() = 525'336'576;
  return weights;
}

// github.com/pytorch/torchtitan, benchmarks/llama3_h100_202412: FSDP of Llama 3.1 8B, windows of
// 8,192 tokens, 2 on each GPU; tokens a second and GPU on 8 GPUs of one host and on 128. A GPU has
// 400 Gbit/s to other hosts, and NVLink within its own.
TEST(TwoLanes, AgreeWithTorchtitanOnH100) {
  constexpr double kNvlink = 450e9, kNetwork = 50e9, kTokens = 2 * 8192;
  struct Figures {
    const char* name;
    double on_8, on_128;
  };
  for (const auto& [name, on_8, on_128] : {Figures{"as it comes", 5762, 5605},
                                           {"compiled", 6667, 6514},
                                           {"compiled, float8", 8532, 8380}}) {
    const ShardedStep step(llama_8b(), kTokens / on_8);
    const Lanes few = step.on(8, kNvlink), many = step.on(128, kNetwork);
    EXPECT_NEAR(few.seconds / many.seconds, on_128 / on_8, 0.03) << name;
    EXPECT_LT(many.exposed, 0.1 * many.talking) << name;  // nearly all of it is hidden
  }
}

// The same, llama3-8b_h200_202506: from 4 to 8 hosts of 8 GPUs.
TEST(TwoLanes, AgreeWithTorchtitanOnH200) {
  const ShardedStep step(llama_8b(), 2 * 8192 / 10938.0);
  const double ratio = step.on(32, 50e9).seconds / step.on(64, 50e9).seconds;
  EXPECT_NEAR(ratio, 10753 / 10938.0, 0.03);
}

}  // namespace
}  // namespace plimsoll
