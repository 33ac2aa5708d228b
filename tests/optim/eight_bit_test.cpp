// Optimizers with state in 8 bits: beside bitsandbytes, beside those in f32, and their bytes.
#include "optim/eight_bit.h"

#include <map>

#include "autograd/gradients.h"
#include "formats/npy.h"
#include "memory/step/step.h"
#include "ops/ops.h"
#include "optim/adam.h"
#include "optim/sgd.h"
#include "tests/data/testing.h"
#include "tests/support/op_case.h"
#include "tests/support/python.h"

namespace plimsoll {
namespace {

using optim::AdamW8bit, optim::SGD8bit;

constexpr int kSteps = 20;
constexpr int64_t kElements = 5000;  // blocks of 256, and a part of one

Tensor drawn(uint64_t key, const Shape& shape, double std) { return normal(shape, 0, std, key); }

// Their sizes differ from element to element; by `spread` in the logarithm.
std::vector<Tensor> gradients_of_steps(double spread = 0.5) {
  std::vector<Tensor> all;
  const Tensor sizes = exp(drawn(1, {kElements}, spread));
  for (int t = 0; t < kSteps; ++t)
    all.push_back(sizes *
                  (drawn(2, {kElements}, 0.01) + drawn(10 + uint64_t(t), {kElements}, 0.02)));
  return all;
}

constexpr optim::AdamW8bitOptions kAdamW{
    .learning_rate = 1e-2, .beta1 = 0.9, .beta2 = 0.99, .weight_decay = 0.1};
constexpr optim::SGD8bitOptions kSgd{.learning_rate = 1e-2, .momentum = 0.9, .weight_decay = 0.1};

// The parameter after all steps, and the state.
template <class O, class Options>
std::map<std::string, Tensor> trained(const Options& options, const Tensor& start,
                                      double spread = 0.5) {
  const Tensor p = clone(start);
  O optimizer({p}, options);
  for (const Tensor& g : gradients_of_steps(spread)) optimizer.update(std::array{g});
  std::map<std::string, Tensor> result{{"p", p}};
  const auto& slots = optimizer.slots()[0];
  for (size_t k = 0; k < slots.size(); ++k) result[optimizer.slot_names()[k]] = slots[k];
  return result;
}

double error_of(const Tensor& a, const Tensor& b) {
  return relative_error(to_array(a), to_array(b));
}

// The root mean square of a - b over that of start - b: of the way.
double share_of_the_way(const Tensor& a, const Tensor& b, const Tensor& start) {
  return norm(a - b).item() / norm(start - b).item();
}

// The share of codes that are others, and by how many.
void expect_codes(const Tensor& own, const Tensor& other, double share, int most) {
  const auto a = own.to_vector<int64_t>(), b = other.to_vector<int64_t>();
  ASSERT_EQ(a.size(), b.size());
  int different = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    different += a[i] != b[i];
    EXPECT_LE(std::abs(a[i] - b[i]), most) << "code " << i;
  }
  EXPECT_LE(different, share * static_cast<double>(a.size()));
}

TEST(EightBit, TrajectoriesAreBitsandbytes) {
  NEEDS_PYTHON("numpy, torch, bitsandbytes");
  const data::TemporaryFolder dir;
  const Tensor start = drawn(3, {kElements}, 0.5);
  std::vector<NamedTensor> ours{{"p", start}};
  for (const Tensor& g : gradients_of_steps()) ours.push_back({cat("g", ours.size() - 1), g});
  formats::write_npz(dir / "ours.npz", ours);
  const python::Outcome outcome =
      python::run("optim/references/eight_bit.py", {dir.path().string()});
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  std::map<std::string, Tensor> theirs;
  for (const NamedTensor& array : formats::read_npz(dir / "theirs.npz"))
    theirs[array.name] = array.tensor;

  auto adamw = trained<AdamW8bit>(kAdamW, start);
  auto sgd = trained<SGD8bit>(kSgd, start);
  // By the nearest code, as here. Sums of products are rounded otherwise, which in 20 steps moves a
  // few numbers to the code beside.
  EXPECT_LE(error_of(adamw["p"], theirs["exact_adamw.p"]), 2e-3);
  EXPECT_LE(error_of(sgd["p"], theirs["exact_sgd.p"]), 2e-4);
  expect_codes(adamw["first_moment"], theirs["exact_adamw.codes"], 0.01, 1);
  expect_codes(adamw["second_moment"], theirs["exact_adamw.second_codes"], 0.01, 1);
  expect_codes(sgd["velocity"], theirs["exact_sgd.codes"], 0.01, 1);
  EXPECT_LE(error_of(adamw["first_scales"], theirs["exact_adamw.scales"]), 1e-5);
  EXPECT_LE(error_of(adamw["second_scales"], theirs["exact_adamw.second_scales"]), 1e-5);
  EXPECT_LE(error_of(sgd["velocity_scales"], theirs["exact_sgd.scales"]), 1e-5);
  // bitsandbytes itself, whose codes on a CPU are not quite the nearest.
  std::printf("of the way: adamw %.4f, sgd %.4f\n",
              share_of_the_way(adamw["p"], theirs["adamw.p"], start),
              share_of_the_way(sgd["p"], theirs["sgd.p"], start));
  EXPECT_LE(share_of_the_way(adamw["p"], theirs["adamw.p"], start), 0.02);
  EXPECT_LE(share_of_the_way(sgd["p"], theirs["sgd.p"], start), 0.01);
  EXPECT_LE(error_of(adamw["first_scales"], theirs["adamw.scales"]), 0.02);
  EXPECT_LE(error_of(adamw["second_scales"], theirs["adamw.second_scales"]), 0.02);
}

TEST(EightBit, StaysNearTheStateInF32) {
  const Tensor start = drawn(3, {kElements}, 0.5);
  const auto exact = trained<optim::AdamW>(
      optim::AdamWOptions{.learning_rate = 1e-2, .beta2 = 0.99, .weight_decay = 0.1}, start);
  auto coded = trained<AdamW8bit>(kAdamW, start);
  const double share = share_of_the_way(coded["p"], exact.at("p"), start);
  EXPECT_LE(share, 0.05);
  EXPECT_GT(share, 0);
  std::printf("of the way: %.4f\n", share);
}

// Blocks with gradients of many magnitudes: where the second moment of the smaller ones would
// become 0, steps would be a thousand times too long.
TEST(EightBit, MakesNoLongStepsWhereASecondMomentIsSmall) {
  const Tensor start = drawn(3, {kElements}, 0.5);
  const auto longest = [&](const Tensor& p) { return norm(p - start, kInf).item(); };
  const auto exact = trained<optim::AdamW>(
      optim::AdamWOptions{.learning_rate = 1e-2, .beta2 = 0.99, .weight_decay = 0.1}, start, 3);
  EXPECT_LE(longest(trained<AdamW8bit>(kAdamW, start, 3)["p"]), 1.5 * longest(exact.at("p")));
}

TEST(EightBit, SmallParametersHaveTheBitsOfF32) {
  const Tensor start = drawn(3, {kElements}, 0.5);
  optim::AdamW8bitOptions adamw = kAdamW;
  optim::SGD8bitOptions sgd = kSgd;
  adamw.smallest = sgd.smallest = kElements + 1;
  EXPECT_TRUE(
      same_bits(trained<AdamW8bit>(adamw, start)["p"],
                trained<optim::AdamW>(
                    optim::AdamWOptions{.learning_rate = 1e-2, .beta2 = 0.99, .weight_decay = 0.1},
                    start)["p"]));
  EXPECT_TRUE(
      same_bits(trained<SGD8bit>(sgd, start)["p"],
                trained<optim::SGD>(
                    optim::SgdOptions{.learning_rate = 1e-2, .momentum = 0.9, .weight_decay = 0.1},
                    start)["p"]));
}

TEST(EightBit, ThePlanHasItsBytes) {
  const Tensor w = drawn(1, {1024, 1024}, 0.1).require_grad();
  const auto planned = [&](optim::Optimizer& optimizer) {
    Step step([&](const Tensor& x) {
      const Tensor loss = sum(matmul(x, w));
      optimizer.update(gradients(loss, std::array{w}));
      return loss;
    });
    BytesByClass bytes = step.plan({{{8, 1024}}}).at_peak;
    return at(bytes, MemoryClass::optimizer);
  };
  AdamW8bit adamw({w});
  SGD8bit sgd({w});
  optim::AdamW exact({w});
  const double elements = 1024.0 * 1024.0;
  EXPECT_LE(static_cast<double>(planned(adamw)) / elements, 2.032);
  EXPECT_LE(static_cast<double>(planned(sgd)) / elements, 1.016);
  EXPECT_GE(static_cast<double>(planned(exact)) / elements, 8);
}

TEST(EightBit, SkipsAndGoesOnFromItsState) {
  const Tensor p = drawn(1, {kElements}, 0.5), q = clone(p);
  AdamW8bit one({p}, kAdamW), other({q}, kAdamW);
  const std::vector<Tensor> grads = gradients_of_steps();
  one.update(std::array{grads[0]});
  one.update(std::array{grads[1]});
  other.update(std::array{grads[0]});
  const Tensor before = clone(other.slots()[0][0]);
  other.update(std::array{grads[5]}, cast(ones({}), DType::boolean));
  EXPECT_TRUE(same_bits(other.slots()[0][0], before));
  AdamW8bit third({q}, kAdamW);  // in its place
  const auto from = other.state(), to = third.state();
  ASSERT_EQ(from.size(), to.size());
  for (size_t i = 0; i < from.size(); ++i) {
    EXPECT_EQ(from[i].first, to[i].first);
    visit_any(from[i].second.dtype(), [&]<class T>() {
      to[i].second.write(
          std::span<const T>(from[i].second.data<T>(), static_cast<size_t>(to[i].second.count())));
    });
  }
  third.update(std::array{grads[1]});
  EXPECT_TRUE(same_bits(p, q));
}

TEST(EightBit, RefusesWhatIsNoOption) {
  const Tensor p = ones({3});
  expect_error<ValueError>([&] { AdamW8bit({p}, {.smallest = -1}); },
                           "adamw8bit: the smallest parameter in 8 bits is below 0 elements: -1. "
                           "Use 0 for all.");
  expect_error<ValueError>([&] { SGD8bit({p}, {.momentum = 0}); },
                           "sgd8bit: there is no momentum to keep: 0. Use SGD.");
  expect_error<ValueError>([&] { AdamW8bit({p}, {.beta1 = 1}); },
                           "adamw8bit: beta1 is out of range: 1. Use 0 <= beta1 < 1.");
}

}  // namespace
}  // namespace plimsoll
