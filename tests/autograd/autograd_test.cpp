// The tape: what it computes, what it keeps, when it lets go, and what it refuses.
#include <gtest/gtest.h>

#include <cmath>

#include "autograd/checkpoint.h"
#include "autograd/gradcheck.h"
#include "autograd/gradients.h"
#include "autograd/no_grad.h"
#include "core/engine/trace.h"
#include "memory/step/step.h"
#include "ops/ops.h"
#include "tests/support/errors.h"

namespace plimsoll {
namespace {

Tensor leaf(std::initializer_list<double> values) {
  return Tensor::of<double>(std::span(values.begin(), values.size()),
                            {static_cast<int64_t>(values.size())})
      .require_grad();
}

TEST(Checkpoint, ATensorThatWasNotPassedIsRefused) {
  const Tensor x = ones({2}).require_grad(), w = full({2}, 3).require_grad();
  const auto f = [&](std::span<const Tensor> in) { return in[0] * w; };
  const Tensor y = sum(checkpoint(f, std::array{x}));
  expect_error<StateError>(
      [&] {
        gradients(y, std::array{x, w});
      },
      "checkpoint: the function uses a tensor on the tape that is not among "
      "its inputs: f32 [2] on cpu. Pass it with them, or detach() it.");
  expect_error<ValueError>([&] { checkpoint({}, std::array{x}); },
                           "checkpoint: there is no function to call: an empty one. Pass one.");
}

TEST(Gradients, OfASharedValueAddUp) {
  const Tensor x = leaf({2, 3});
  const Tensor y = x * x;  // used twice below
  const Tensor loss = sum(y * y + y);
  const auto g = gradients(loss, std::array{x});
  EXPECT_EQ(g[0].to_vector<double>(), (std::vector<double>{4 * 8 + 4, 4 * 27 + 6}));
}

TEST(Gradients, OfInnerValuesToo) {
  const Tensor x = leaf({2});
  const Tensor y = x * 3.0;
  const auto g = gradients(sum(y * y), std::array{y, x});
  EXPECT_EQ(g[0].item(), 12);
  EXPECT_EQ(g[1].item(), 36);
}

TEST(Gradients, OfZeroKeepTheirSigns) {
  const Tensor x = leaf({1, 2});
  const Tensor weights = Tensor::of<double>({0.0, -0.0}, {2});
  for (const Tensor& y : {x * 3, 3 * x + 1, x / 3}) {
    const auto g = gradients(sum(y * weights), std::array{x})[0].to_vector<double>();
    EXPECT_EQ(g, (std::vector<double>{0, 0}));
    EXPECT_FALSE(std::signbit(g[0]));
    EXPECT_TRUE(std::signbit(g[1]));
  }
}

TEST(Gradients, AreZeroForWhatTheLossDoesNotSee) {
  const Tensor x = leaf({2}), unused = leaf({1, 2, 3});
  EXPECT_EQ(gradients(sum(x), std::array{x, unused})[1].to_vector<double>(),
            (std::vector<double>{0, 0, 0}));
}

TEST(Gradients, CanBeDifferentiatedAgain) {
  const Tensor x = leaf({2});
  const auto first = gradients(sum(x * x * x), std::array{x}, {.create_graph = true});
  EXPECT_EQ(first[0].item(), 12);  // 3 x^2
  const auto second = gradients(sum(first[0]), std::array{x}, {.create_graph = true});
  EXPECT_EQ(second[0].item(), 12);                                   // 6 x
  EXPECT_EQ(gradients(sum(second[0]), std::array{x})[0].item(), 6);  // 6
}

TEST(Gradients, FreeTheTapeAsTheyPass) {
  const Tensor x = leaf({2, 3});
  const Tensor loss = sum(x * x);
  gradients(loss, std::array{x}, {.retain = true});
  gradients(loss, std::array{x});
  expect_error<StateError>([&] { gradients(loss, std::array{x}); },
                           "sum: the saved values of output f64 [] on cpu were freed by an earlier "
                           "backward pass. Pass .retain = true to the earlier one.");
}

TEST(Gradients, NoticeValuesChangedInPlace) {
  const Tensor x = leaf({2, 3});
  const Tensor loss = sum(x * x);
  const std::vector<double> other{0, 0};
  x.write(std::span<const double>(other));
  expect_error<StateError>([&] { gradients(loss, std::array{x}); },
                           "mul: input 1 was changed in place after the op ran: f64 [2] on cpu. "
                           "Take the gradients before updating it.");
}

TEST(Gradients, Refuse) {
  const Tensor x = leaf({2, 3});
  expect_error<ShapeError>([&] { gradients(x * x, std::array{x}); },
                           "gradients: the loss has several elements: f64 [2] on cpu. "
                           "Reduce it to one, or give a seed of its shape.");
  expect_error<StateError>([&] { gradients(sum(zeros({2})), std::array{x}); },
                           "gradients: the loss is not on the tape. "
                           "Compute it from tensors made by require_grad().");
  expect_error<StateError>([&] { gradients(sum(x), std::array{zeros({2})}); },
                           "gradients: a tensor to differentiate by is not on the tape: f32 [2] on "
                           "cpu. Make it with require_grad().");
  expect_error<ValueError>([&] { gradients(x * x, std::array{x}, {.seed = zeros({3})}); },
                           "gradients: the seed does not match the loss: f32 [3] on cpu for f64 [2]"
                           " on cpu. Give one of the same shape and type.");
}

TEST(Backward, AddsIntoLeaves) {
  const Tensor x = leaf({2, 3});
  EXPECT_FALSE(x.grad().defined());
  backward(sum(x * x));
  backward(sum(x * 10.0));
  EXPECT_EQ(x.grad().to_vector<double>(), (std::vector<double>{14, 16}));
  zero_grad(std::array{x});
  EXPECT_FALSE(x.grad().defined());
}

TEST(NoGradScope, RecordsNothing) {
  const Tensor x = leaf({2});
  const NoGrad scope;
  EXPECT_FALSE((x * x).needs_grad());
}

TEST(Tape, LeavesNothingBehindAndUnwindsWithoutRecursion) {
  const int64_t nodes = Node::live(), storages = Storage::live();
  {
    Tensor y = leaf({1});
    for (int i = 0; i < 200'000; ++i) y = y * 1.0;
    EXPECT_GT(Node::live(), nodes + 200'000);
  }
  EXPECT_EQ(Node::live(), nodes);
  EXPECT_EQ(Storage::live(), storages);
}

TEST(Tape, BackwardFreesSavedValuesOneByOne) {
  const Tensor x = leaf({2, 3});
  const int64_t before = Storage::live();
  Tensor loss = sum(relu(relu(relu(x))));
  EXPECT_EQ(Storage::live(), before + 4);  // three saved outputs and the loss
  const auto g = gradients(loss, std::array{x});
  EXPECT_EQ(Storage::live(), before + 2);  // the loss and the gradient
}

TEST(Checkpoint, KeepsOnlyItsInputs) {
  const Tensor x = leaf({0.1, 0.2});
  const auto f = [](std::span<const Tensor> in) { return relu(relu(relu(in[0]))); };
  const int64_t before = Storage::live();
  const Tensor plain = f(std::array{x});
  EXPECT_EQ(Storage::live(), before + 3);
  const Tensor saved = checkpoint(f, std::array{x});
  EXPECT_EQ(Storage::live(), before + 4);  // its result only
  const auto a = gradients(sum(plain), std::array{x}), b = gradients(sum(saved), std::array{x});
  EXPECT_EQ(a[0].to_vector<double>(), b[0].to_vector<double>());
}

TEST(Checkpoint, ReachesParametersAndNests) {
  const Tensor x = leaf({0.5}), w = leaf({2});
  const auto inner = [](std::span<const Tensor> in) { return in[0] * in[1]; };
  const auto outer = [&](std::span<const Tensor> in) {
    return relu(checkpoint(inner, std::array{in[0] * in[1], w}));
  };
  const Tensor y = checkpoint(outer, std::array{x * 1.0, w});
  const auto g = gradients(sum(y), std::array{x, w});  // y = x w^2
  EXPECT_DOUBLE_EQ(g[0].item(), 4);
  EXPECT_DOUBLE_EQ(g[1].item(), 2);
}

TEST(Checkpoint, ATensorGivenTwiceCountsOnce) {
  const Tensor w = leaf({3});
  const auto product = [](std::span<const Tensor> in) { return in[0] * in[1]; };
  EXPECT_EQ(gradients(sum(checkpoint(product, std::array{w, w})), std::array{w})[0].item(), 6);
  const Tensor inner = w * 1.0;
  EXPECT_EQ(gradients(sum(checkpoint(product, std::array{inner, inner})), std::array{w})[0].item(),
            6);
}

TEST(Checkpoint, ReachesInnerValuesUsedThroughTheClosure) {
  const Tensor x = leaf({3}), w0 = leaf({5});
  const Tensor w = w0 * 2.0;
  const auto f = [&](std::span<const Tensor> in) { return in[0] * w; };
  EXPECT_EQ(gradients(sum(checkpoint(f, std::array{x, w})), std::array{w0})[0].item(), 6);
}

TEST(Checkpoint, StaysOnItsOwnPieceOfTheTape) {
  const Tensor w = leaf({3});
  const Tensor h = w * w;  // a constant inside, through the closure, and on the tape outside
  const auto f = [&](std::span<const Tensor> in) { return in[0] * h.detach(); };
  const Tensor y = checkpoint(f, std::array{w});
  EXPECT_EQ(gradients(sum(y + h), std::array{w})[0].item(), 9 + 6);
}

TEST(Checkpoint, CanBeDifferentiatedTwice) {
  const Tensor x = leaf({2});
  const auto cube = [](std::span<const Tensor> in) { return in[0] * in[0] * in[0]; };
  const Tensor y = sum(checkpoint(cube, std::array{x * 1.0}) + x * x);
  const auto first = gradients(y, std::array{x}, {.create_graph = true});
  EXPECT_EQ(first[0].item(), 16);
  EXPECT_EQ(gradients(sum(first[0]), std::array{x})[0].item(), 14);
}

TEST(Checkpoint, OfAConstantHasNoGradient) {
  const Tensor x = leaf({2});
  const auto f = [](std::span<const Tensor> in) { return in[0].detach() * 2.0; };
  const Tensor y = checkpoint(f, std::array{x}) + x;
  EXPECT_EQ(gradients(sum(y), std::array{x})[0].item(), 1);
}

TEST(Backward, ChangesAllLeavesOrNoneAndSharesNoMemory) {
  const Tensor a = leaf({1, 2}), b = leaf({3, 4});
  const Tensor seed = ones({2}, {.dtype = DType::f64});
  backward(a + b, {.seed = seed});
  EXPECT_NE(a.grad().data<double>(), b.grad().data<double>());
  EXPECT_NE(a.grad().data<double>(), seed.data<double>());
}

TEST(Backward, IsRefusedInACapturedStep) {
  const Tensor w = leaf({1});
  expect_error<StateError>(
      [&] {
        capture(
            [&](auto in) {
              backward(sum(in[0] * w));
              return std::vector{in[0]};
            },
            std::array{Meta{{1}, DType::f64}});
      },
      "backward: a step is being captured, and a leaf cannot hold a value that is not known. Use "
      "gradients().");
  EXPECT_FALSE(w.grad().defined());
}

TEST(Gradients, AreContiguous) {
  const Tensor x = leaf({1, 2, 3, 4});
  const Tensor g = gradients(sum(x), std::array{x})[0];
  EXPECT_TRUE(g.contiguous());
  EXPECT_EQ(g.data<double>()[3], 1);
}

TEST(Gradcheck, FindsAWrongGradient) {
  const auto wrong = [](std::span<const Tensor> in) {
    return std::vector{in[0] * in[0].detach()};  // half of the gradient of x^2
  };
  const GradcheckResult result = gradcheck(wrong, std::array{leaf({3})});
  EXPECT_FALSE(result.ok);
  EXPECT_NEAR(result.worst, 0.5, 0.01);
  EXPECT_NE(result.message.find("gradcheck: input 0, element 0: analytic"), std::string::npos);
}

TEST(Gradcheck, ChecksSomeElementsOfALargeInput) {
  std::vector<int64_t> moved;  // elements that were not 1 in a call
  const auto square = [&](std::span<const Tensor> in) {
    const std::vector<double> x = in[0].to_vector<double>();
    for (size_t i = 0; i < x.size(); ++i)
      if (x[i] != 1) moved.push_back(static_cast<int64_t>(i));
    return std::vector{in[0] * in[0]};
  };
  const auto check = [&](const Shape& shape, int64_t elements) {
    moved.clear();
    const Tensor x = ones(shape, {.dtype = DType::f64});
    EXPECT_TRUE(gradcheck(square, std::array{x}, {.elements_per_input = elements}).ok);
    return moved;
  };
  using Places = std::vector<int64_t>;
  EXPECT_EQ(check({6, 8}, 9), (Places{0, 0, 7, 7, 14, 14, 21, 21, 28, 28, 35, 35, 42, 42}));
  EXPECT_EQ(check({5, 3}, 5), (Places{0, 0, 4, 4, 8, 8, 12, 12}));  // not every third
  EXPECT_EQ(check({2}, 9), (Places{0, 0, 1, 1}));
  EXPECT_EQ(check({0}, 9), Places());
  expect_error<ValueError>([&] { check({2}, 0); },
                           "gradcheck: elements_per_input is 0. Check at least one.");
}

TEST(Capture, RefusesToReadAValue) {
  const auto reads = [](std::span<const Tensor> in) {
    return std::vector{in[0] * sum(in[0]).item()};
  };
  expect_error<StateError>([&] { capture(reads, std::array{Meta{{2}}}); },
                           "item: the value is not known while a step is being captured: f32 [] on "
                           "cpu. Return it from the step instead.");
  EXPECT_EQ(Trace::current(), nullptr);
}

TEST(Capture, RefusesHostWritesAndValuesItHasOutdated) {
  const Tensor counter = Tensor::of<int64_t>({0}, {});
  const auto writes = [&](std::span<const Tensor> in) {
    const std::vector<int64_t> one{1};
    counter.write(std::span<const int64_t>(one));
    return std::vector{in[0] * 1.0};
  };
  expect_error<StateError>([&] { capture(writes, std::array{Meta{{2}}}); },
                           "write: a step is being captured: i64 [] on cpu. "
                           "Write between the steps, or make the value an input.");
  const uint32_t version = counter.value().storage->version();
  const auto reads = [&](std::span<const Tensor> in) {
    increment(counter);
    return std::vector{in[0] * counter.item()};
  };
  expect_error<StateError>(
      [&] { capture(reads, std::array{Meta{{2}}}); },
      "item: the value is not known while a step is being captured: i64 [] on "
      "cpu was written in place by the step. Return it from the step instead.");
  EXPECT_EQ(counter.value().storage->version(), version) << "capturing writes nothing";
  const auto makes = [](std::span<const Tensor> in) {
    increment(Tensor::of<int64_t>({0}, {}));
    return std::vector{in[0] * 1.0};
  };
  expect_error<StateError>([&] { capture(makes, std::array{Meta{{2}}}); },
                           "increment: a tensor made inside a captured step is written in place: 8 "
                           "bytes. Make it outside, so that it is one tensor.");
}

TEST(Capture, RefusesResultsOfAnotherCapture) {
  Tensor leaked;
  capture([&](auto in) { return std::vector{leaked = relu(in[0])}; }, std::array{Meta{{2}}});
  expect_error<StateError>(
      [&] { capture([&](auto) { return std::vector{leaked}; }, std::array{Meta{{2}}}); },
      "capture: a tensor belongs to a captured step that has ended: f32 [2] on cpu. "
      "Return it from that step instead.");
}

TEST(Mutation, RefusesSharedMemoryAndChecksWhatItWrites) {
  const Tensor w = Tensor::of<float>({1, 2}, {2});
  const Tensor rate = full({}, 1);
  expect_error<ValueError>([&] { sgd_update(w, w, {}, ones({}, {.dtype = DType::i64}), rate, {}); },
                           "sgd_update: input 0 is written in place and shares its memory with "
                           "input 1: f32 [2] on cpu. Pass a copy of one of them.");
  ApplyMode mode = apply_mode();
  mode.check_finite = true;
  const ApplyModeScope scope(mode);
  EXPECT_THROW(
      sgd_update(w, full({2}, 1e38), {}, ones({}, {.dtype = DType::i64}), full({}, 1e10), {}),
      NumericError);
}

TEST(Capture, ALeakedTensorSaysWhereItCameFrom) {
  Tensor leaked;
  capture([&](std::span<const Tensor> in) { return std::vector{leaked = relu(in[0])}; },
          std::array{Meta{{2}}});
  expect_error<StateError>([&] { leaked.to_vector<float>(); },
                           "to_vector: the value belongs to a captured step that has ended: f32 [2]"
                           " on cpu. Return it from the step instead.");
  expect_error<StateError>([&] { relu(leaked); },
                           "relu: input 0 belongs to a captured step that has ended: f32 [2] on "
                           "cpu. Return it from the step instead.");
}

}  // namespace
}  // namespace plimsoll
