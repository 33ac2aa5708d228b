// Optimizer: state and its memory, refusals that change nothing, and a captured training step that
// follows the learning rate and the step count.
#include <gtest/gtest.h>

#include "autograd/gradients.h"
#include "core/base/philox.h"
#include "memory/step/step.h"
#include "ops/ops.h"
#include "optim/adam.h"
#include "optim/clip.h"
#include "optim/rmsprop.h"
#include "optim/sgd.h"
#include "tests/support/errors.h"

namespace plimsoll {
namespace {

using optim::Optimizer;

TEST(Optimizer, NamesItsState) {
  const std::vector<Tensor> w{ones({2, 3}), ones({4}, {.dtype = DType::f64})};
  const optim::Adam adam(w, {.learning_rate = 0.25});
  std::vector<std::string> names;
  for (const auto& [name, tensor] : adam.state()) {
    names.push_back(name + " " + cat(tensor.meta()));
    EXPECT_EQ(tensor.value().storage->memory_class(), MemoryClass::optimizer) << name;
  }
  EXPECT_EQ(names, (std::vector<std::string>{
                       "learning_rate f64 [] on cpu", "steps i64 [] on cpu",
                       "first_moment.0 f32 [2, 3] on cpu", "second_moment.0 f32 [2, 3] on cpu",
                       "first_moment.1 f64 [4] on cpu", "second_moment.1 f64 [4] on cpu"}));
  EXPECT_EQ(adam.learning_rate().item(), 0.25);
  EXPECT_EQ(adam.steps().item<int64_t>(), 0);
}

TEST(Optimizer, KeepsNoStateItDoesNotNeed) {
  EXPECT_EQ(optim::SGD({ones({2})}).state().size(), 2u);
  EXPECT_EQ(optim::SGD({ones({2})}, {.momentum = 0.9}).state().size(), 3u);
}

TEST(Optimizer, StateOf16BitParametersIsF32) {
  const optim::SGD sgd({ones({2}, {.dtype = DType::bf16})}, {.momentum = 0.9});
  EXPECT_EQ(sgd.state()[2].second.dtype(), DType::f32);
}

// What state() returns is the state itself: writing it back goes on from there.
TEST(Optimizer, GoesOnFromRestoredState) {
  const Tensor w = ones({2});
  optim::Adam adam({w});
  const std::vector<Tensor> grads{Tensor::of<float>({0.5f, -2.0f}, {2})};
  adam.update(grads);
  std::vector<Tensor> saved{clone(w)};
  for (const auto& [name, tensor] : adam.state()) saved.push_back(clone(tensor));
  adam.update(grads);
  const std::vector<float> once = w.to_vector<float>();

  adam.update(grads);
  size_t next = 0;
  w.write(std::span<const float>(saved[next++].to_vector<float>()));
  for (const auto& named : adam.state()) {
    const Tensor &tensor = named.second, &from = saved[next++];
    visit_any(tensor.dtype(), [&]<class T>() {
      tensor.write(std::span<const T>(from.data<T>(), static_cast<size_t>(from.count())));
    });
  }
  adam.update(grads);
  EXPECT_EQ(w.to_vector<float>(), once);
  EXPECT_EQ(adam.steps().item<int64_t>(), 2);
}

TEST(Optimizer, TakesStridedGradientsAndLeaves) {
  const Tensor w = zeros({2, 3}).require_grad();
  optim::SGD sgd({w}, {.learning_rate = 1});
  sgd.update(std::vector{transpose(Tensor::of<float>({1, 2, 3, 4, 5, 6}, {3, 2}))});
  EXPECT_EQ(w.to_vector<float>(), (std::vector<float>{-1, -3, -5, -2, -4, -6}));
}

TEST(Optimizer, RefusesParameters) {
  const auto make = [](std::vector<Tensor> w) { return [w] { optim::SGD sgd(w); }; };
  const Tensor w = ones({2, 3});
  expect_error<ValueError>(make({}),
                           "optimizer: there is no parameter: 0 were given. Pass at least one.");
  expect_error<StateError>(make({w, Tensor()}),
                           "optimizer: parameter 1 is undefined. Give it a value first.");
  expect_error<DTypeError>(make({ones({2}, {.dtype = DType::i64})}),
                           "optimizer: parameter 0 is not of a floating type: i64 [2] on cpu. "
                           "Leave it out.");
  expect_error<StateError>(make({transpose(w)}),
                           "optimizer: parameter 0 is a strided view: f32 [3, 2] on cpu. Pass the "
                           "whole tensor.");
  expect_error<ValueError>(
      make({w, ones({2}), w}),
      "optimizer: parameter 2 is parameter 0 again: f32 [2, 3] on cpu. Pass it "
      "once.");
  expect_error<DeviceError>(make({w, ones({2}, {.device = Device::null})}),
                            "optimizer: parameter 1 is on another device than the first: f32 [2] "
                            "on null. Move them to one device.");
}

TEST(Optimizer, RefusesOptions) {
  const std::vector<Tensor> w{ones({2})};
  expect_error<ValueError>([&] { optim::SGD sgd(w, {.learning_rate = -1}); },
                           "optimizer: the learning rate must be a number from 0 that f32 has: -1. "
                           "Use a small positive number.");
  expect_error<ValueError>(
      [&] { optim::SGD(w).set_learning_rate(std::nan("")); },
      "optimizer: the learning rate must be a number from 0 that f32 has: nan. "
      "Use a small positive number.");
  EXPECT_THROW(optim::SGD(w).set_learning_rate(1e39), ValueError);
  expect_error<ValueError>(
      [&] { optim::SGD sgd(w, {.nesterov = true}); },
      "sgd: nesterov needs momentum and no damping: got momentum 0 and damping "
      "0. Set momentum, to 0.9 for example.");
  expect_error<ValueError>([&] { optim::SGD sgd(w, {.momentum = -0.5}); },
                           "sgd: momentum is not a number from 0: -0.5. Use 0 or more.");
  expect_error<ValueError>([&] { optim::Adam adam(w, {.beta1 = 1}); },
                           "adam: beta1 is out of range: 1. Use 0 <= beta1 < 1.");
  expect_error<ValueError>([&] { optim::AdamW adam(w, {.eps = -1}); },
                           "adamw: eps is not a number from 0: -1. Use 0 or more.");
}

TEST(Optimizer, RefusedGradientsChangeNothing) {
  const std::vector<Tensor> w{ones({2}), ones({3})};
  optim::Adam adam(w);
  const auto update = [&](std::vector<Tensor> grads) {
    return [&adam, grads] { adam.update(grads); };
  };
  expect_error<ShapeError>(update({ones({2})}),
                           "optimizer: the number of gradients is wrong: 1 for 2 parameters. Pass "
                           "one for each, in the same order.");
  expect_error<StateError>(update({ones({2}), Tensor()}),
                           "optimizer: gradient 1 is undefined. Pass zeros for a parameter that "
                           "stays.");
  expect_error<ShapeError>(
      update({ones({2}), ones({2})}),
      "optimizer: the gradient has another shape: parameter [3], gradient [2]. "
      "Pass the gradient of this parameter.");
  expect_error<DTypeError>(update({ones({2}), ones({3}, {.dtype = DType::f64})}),
                           "optimizer: the gradient has another type: parameter f32, gradient f64. "
                           "Cast it first.");
  expect_error<DeviceError>(update({ones({2}), ones({3}, {.device = Device::null})}),
                            "optimizer: gradient 1 is on another device than its parameter: f32 "
                            "[3] on null. Compute it there.");
  EXPECT_EQ(adam.steps().item<int64_t>(), 0);
  EXPECT_EQ(w[0].to_vector<float>(), (std::vector<float>{1, 1}));
}

// A small network trained eagerly and as a captured step.
struct Training {
  Keys keys{7};
  std::vector<Tensor> w{normal({5, 4}, 0, 0.5, keys.next()).require_grad(),
                        zeros({5}).require_grad(),
                        normal({3, 5}, 0, 0.5, keys.next()).require_grad()};
  optim::AdamW optimizer{w, {.learning_rate = 0.1}};

  Tensor step(const Tensor& x, const Tensor& labels, const Tensor& key) {
    const Tensor hidden = dropout(tanh(linear(x, w[0], w[1])), 0.25, key, 0);
    const Tensor loss = cross_entropy(linear(hidden, w[2]), labels);
    optimizer.update(optim::clip_by_global_norm(gradients(loss, w), 0.5).grads);
    return loss;
  }
};

TEST(Optimizer, CapturedTrainingEqualsEagerBitForBit) {
  Training eager, captured;
  Step step([&](const Tensor& x, const Tensor& y, const Tensor& key) {
    return captured.step(x, y, key);
  });
  Keys keys(1);
  const Tensor y = Tensor::of<int64_t>({0, 1, 2, 0, 1, 2}, {6});
  for (int t = 0; t < 10; ++t) {
    const Tensor x = normal({6, 4}, 0, 1, keys.next());
    const Tensor key = make_key(3, static_cast<uint64_t>(t));
    for (Training* training : {&eager, &captured})
      training->optimizer.set_learning_rate(0.1 / (t + 1));
    EXPECT_EQ(eager.step(x, y, key).item<float>(), step(x, y, key).item<float>()) << t;
  }
  EXPECT_EQ(captured.optimizer.steps().item<int64_t>(), 10);
  for (size_t k = 0; k < eager.w.size(); ++k) {
    EXPECT_EQ(eager.w[k].to_vector<float>(), captured.w[k].to_vector<float>());
    EXPECT_NE(eager.w[k].to_vector<float>(), Training().w[k].to_vector<float>());
  }
}

// An element has the same bits at the end of its parameter as in the middle of a larger one, where
// ranks that own parts may have it.
TEST(Optimizer, RoundsAnElementInOneWayWhereverItLies) {
  constexpr int64_t kCount = 103, kMore = 256;
  const auto updated = [](int64_t count, const auto& make) {
    const Tensor all = uniform({kMore}, -1, 1, 1), slopes = uniform({kMore}, -1, 1, 2);
    const Tensor w = clone(slice(all, 0, 0, count)), g = clone(slice(slopes, 0, 0, count));
    Optimizer optimizer = make(std::vector{w});
    for (int t = 0; t < 3; ++t) optimizer.update(std::array{g});
    std::vector<float> values = w.to_vector<float>();
    values.resize(kCount);
    return values;
  };
  const auto expect_same = [&](const auto& make) {
    EXPECT_EQ(updated(kCount, make), updated(kMore, make));
  };
  using Parameters = std::vector<Tensor>;
  expect_same([](const Parameters& w) { return optim::AdamW(w); });
  expect_same([](const Parameters& w) { return optim::AdamW(w, {.amsgrad = true}); });
  expect_same([](const Parameters& w) { return optim::Adamax(w); });
  expect_same([](const Parameters& w) { return optim::NAdam(w); });
  expect_same([](const Parameters& w) { return optim::RAdam(w); });
  expect_same([](const Parameters& w) { return optim::RMSprop(w); });
  expect_same([](const Parameters& w) { return optim::Adagrad(w); });
  expect_same([](const Parameters& w) {
    return optim::SGD(w, {.learning_rate = 0.1, .momentum = 0.9, .nesterov = true});
  });
}

}  // namespace
}  // namespace plimsoll
