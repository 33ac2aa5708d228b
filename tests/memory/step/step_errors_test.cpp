// What Step refuses, in which words, and that it can go on afterwards.
#include "memory/step/step.h"
#include "tests/support/full_pool.h"
#include "tests/support/memory_ops.h"

namespace plimsoll {
namespace {

using namespace memory_test;

TEST(MemoryStepErrors, Inputs) {
  Step step([](const Tensor& x, const Tensor& y) { return plus(x, y); });
  const Tensor x = ramp(4);
  expect_error<StateError>([&] { step(x, Tensor()); },
                           "step: input 1 is undefined. Pass a tensor that was computed.");
  expect_error<StateError>([&] { step(evens(ramp(8)), x); },
                           "step: input 0 is not contiguous: f32 [4] on cpu. "
                           "Call contiguous() on it first.");
  expect_error<ValueError>([&] { step(x); },
                           "step: the number of inputs is wrong: 1 given, 2 wanted. "
                           "Pass one tensor for each parameter of the function.");
  expect_error<DeviceError>([&] { step(x, Tensor::empty(vec(4))); },
                            "plus: the inputs are on different devices: f32 [4] on cpu and f32 [4] "
                            "on null. Move them to one device first.");
  EXPECT_EQ(step(x, x).to_vector<float>(), plus(x, x).to_vector<float>());
}

TEST(MemoryStepErrors, ResultsOfAnotherNumber) {
  Step two([](const Tensor& x) { return split(x); });
  expect_error<StateError>([&] { two(ramp(4)); },
                           "step: the function returned 2 tensors where one is asked for. "
                           "Call run() to get them all.");
  EXPECT_EQ(two.run({ramp(4)}).size(), 2u);
  Step none([](const Tensor&) { return Tensor(); });
  expect_error<StateError>([&] { none(ramp(4)); },
                           "capture: the step returned an undefined tensor. "
                           "Return only tensors that were computed.");
}

TEST(MemoryStepErrors, ReadingAValueThatIsNotKnownYet) {
  Step reads([](const Tensor& x) { return scale(x, x.item<float>()); });
  expect_error<StateError>(
      [&] { reads(ramp(1)); },
      "item: the value is not known while a step is being captured: f32 [1] on "
      "cpu. Return it from the step instead.");
  EXPECT_EQ(Trace::current(), nullptr);
}

TEST(MemoryStepErrors, ATensorThatLeakedOut) {
  Tensor leaked;
  Step step([&](const Tensor& x) { return leaked = scale(x, 2); });
  step(ramp(2));
  expect_error<StateError>([&] { scale(leaked, 2); },
                           "scale: input 0 belongs to a captured step that has ended: f32 [2] on "
                           "cpu. Return it from the step instead.");
  expect_error<StateError>(
      [&] { leaked.to_vector<float>(); },
      "to_vector: the value belongs to a captured step that has ended: f32 [2] "
      "on cpu. Return it from the step instead.");
  expect_error<StateError>(
      [&] { step(leaked); },
      "step: input 0 belongs to a captured step that has ended: f32 [2] on cpu. "
      "Return it from that step instead.");
}

TEST(MemoryStepErrors, AStepInsideOfAStep) {
  Step inner([](const Tensor& x) { return scale(x, 2); });
  const Tensor real = ramp(2);
  inner(real);
  Step outer([&](const Tensor& x) { return plus(x, inner(real)); });
  expect_error<StateError>([&] { outer(real); },
                           "step: it is called while another step is being captured. "
                           "Call its function instead.");
}

TEST(MemoryStepErrors, AFailedCaptureLeavesTheStepAsItWas) {
  bool broken = false;
  const Tensor total = ramp(2);
  Step step([&](const Tensor& x) {
    Tensor y = scale(x, 2);
    check<ValueError>(!broken, "broken");
    add_to(total, y);
    return y;
  });
  step(ramp(2));
  const auto before = total.to_vector<float>();
  broken = true;
  expect_error<ValueError>([&] { step.run({Tensor::of<float>({1, 2}, {2, 1})}); }, "broken");
  EXPECT_EQ(total.to_vector<float>(), before);
  broken = false;
  EXPECT_EQ(step(ramp(2)).to_vector<float>(), scale(ramp(2), 2).to_vector<float>());
}

// A pool that is full when block number `full_at` from now is asked for.
TEST(MemoryStepErrors, OutOfMemoryChangesNothingAndTheStepRunsLater) {
  const auto pool = std::make_shared<FullPool>(host_provider());
  const AllocatorScope scope(pool);
  const Tensor x = ramp(1024), total = ramp(1024);
  Step step([&](const Tensor& in) {
    Tensor y = scan(flip(in));
    add_to(total, y);
    return std::vector{y, flip(y)};
  });
  const int64_t in_use = pool->stats().in_use;
  const auto before = total.to_vector<float>();
  for (const int full_at : {1, 2, 3}) {  // the arena, then either of the results
    pool->full_at = full_at;
    expect_error<OutOfMemory>([&] { step.run({x}); }, "step: full");
    EXPECT_EQ(total.to_vector<float>(), before);
    step.release_arena();
    EXPECT_EQ(pool->stats().in_use, in_use);
  }
  EXPECT_EQ(step.run({x})[0].to_vector<float>(), scan(flip(x)).to_vector<float>());
}

TEST(MemoryStepErrors, NaNIsNamedWhenAskedFor) {
  Step step([](const Tensor& x) { return flip(scale(plus(x, x), 2)); });
  const Tensor x = Tensor::of<float>({1, 3e38f}, {2});
  EXPECT_EQ(step(x).to_vector<float>()[1], 4);
  const ApplyModeScope scope({.check_finite = true});
  expect_error<NumericError>([&] { step(x); },
                             "plus: output 0 holds NaN or infinity: f32 [2] on cpu. "
                             "Lower the learning rate or look at this op's inputs.");
  EXPECT_EQ(step(ramp(2)).count(), 2);
}

#ifndef NDEBUG
TEST(MemoryStepErrors, AHostValueThatChanged) {
  float factor = 2;
  int more = 0;
  int64_t first = 0;
  const Tensor a = ramp(3), b = ramp(3, 5);
  const Tensor* other = &a;
  const auto make = [&] {
    return Step([&](const Tensor& x) {
      Tensor y = scale(plus(x, rows(*other, first, first + 2)), factor);
      for (int k = 0; k < more; ++k) y = flip(y);
      const Tensor mask = Tensor::of<float>({1, 0}, {2});  // made anew by each capture, but equal
      return plus(y, mask);
    });
  };
  const auto expect = [&](const std::string& what, auto change) {
    Step step = make();
    const Tensor x = ramp(2);
    for (int run = 0; run < 20; ++run) step(x);  // captured five times by now: nothing has changed
    change();
    const auto run_on = [&] {
      for (int run = 20; run < 40; ++run) step(x);
    };
    expect_error<StateError>(run_on, "step: run 32 would not be what was captured: " + what +
                                         " changed. Host values are frozen by the capture: make "
                                         "those that change tensors.");
  };
  expect("instruction 1 (scale): its attributes", [&] { factor = 3; });
  expect("instruction 0 (plus): its inputs", [&] { other = &b; });
  expect("instruction 0 (plus): its inputs", [&] { first = 1; });
  expect("instruction 2 (plus): it is flip now", [&] { more = 1; });
}
#endif

}  // namespace
}  // namespace plimsoll
