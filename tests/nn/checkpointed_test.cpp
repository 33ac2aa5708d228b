// A module computes the same bits plain, checkpointed, captured and both, in f32 and under
// autocast, and moves its statistics once a step.
#include "autograd/autocast.h"
#include "autograd/gradients.h"
#include "memory/step/step.h"
#include "ops/matmul/linear/linear.h"
#include "ops/pointwise/arithmetic/arithmetic.h"
#include "ops/reduction/sum/sum.h"
#include "ops/shape/view/view.h"
#include "tests/nn/testing.h"

namespace plimsoll::nn {
namespace {

struct How {
  Precision precision = Precision::f32;
  bool checkpoint = false, captured = false;
};

// Loss, gradients of the parameters and of x, and buffers of three training steps with a fresh
// module from `make`, which takes an x of `shape`. Bit for bit.
template <class Make>
std::vector<Doubles> train(const Make& make, const Shape& shape, const How& how) {
  Initializer init{.seed = 4};
  const auto module = make(init);
  const auto function = [&](const Tensor& input, const Tensor& key) {
    const Autocast scope(how.precision);
    const Tensor x = input.require_grad();
    const Mode mode = training(key);
    const Tensor y = how.checkpoint ? checkpointed(*module, x, mode) : (*module)(x, mode);
    const Tensor loss = sum(y * y);
    std::vector<Tensor> wanted = module->parameters();
    wanted.push_back(x);
    std::vector<Tensor> results = gradients(loss, wanted);
    results.push_back(loss);
    return results;
  };
  Step step(function);
  std::vector<Doubles> all;
  for (uint64_t number = 0; number < 3; ++number) {
    const Tensor x = cast(draw(shape, number), DType::f32), key = make_key(11, number);
    for (const Tensor& result : how.captured ? step.run({x, key}) : function(x, key))
      all.push_back(values(result));
    for (const NamedTensor& buffer : module->named_buffers()) all.push_back(values(buffer.tensor));
  }
  return all;
}

template <class Make>
void expect_same_bits(const Make& make, const Shape& shape) {
  for (const Precision p : {Precision::f32, Precision::bf16, Precision::f16}) {
    const std::vector<Doubles> plain = train(make, shape, {.precision = p});
    EXPECT_EQ(train(make, shape, {.precision = p, .checkpoint = true}), plain);
    EXPECT_EQ(train(make, shape, {.precision = p, .captured = true}), plain);
    EXPECT_EQ(train(make, shape, {.precision = p, .checkpoint = true, .captured = true}), plain);
  }
}

TEST(NnCheckpointed, TransformerBlockWithDropout) {
  expect_same_bits(
      [](Initializer& init) {
        return std::make_unique<TransformerBlock>(
            8, init, TransformerOptions{.heads = 2, .causal = true, .dropout = 0.2});
      },
      {2, 5, 8});
}

TEST(NnCheckpointed, ConvolutionsWithBatchNorm) {
  expect_same_bits(
      [](Initializer& init) {
        auto net = std::make_unique<Sequential>();
        net->then<Conv2d>(2, 4, 3, init, Conv2dOptions{.padding = 1})
            .then<BatchNorm2d>(4, init)
            .then<ReLU>()
            .then<Dropout>(0.3, init)
            .then<MaxPool2d>(2);
        return net;
      },
      {3, 6, 6, 2});
}

// One weight three times: shared casts must not change the order in which gradients are added up.
struct Tied : Module {
  explicit Tied(Initializer& init)
      : weight(add_parameter("weight", init::normal({8, 8}, 0.5, init))),
        norm(add<LayerNorm>("norm", 8, init)) {}
  Tensor forward(const Tensor& x, const Mode& mode) const override {
    const Tensor h = linear(norm(linear(x, weight), mode), weight);
    return linear(h * cast(x, h.dtype()), weight) + slice(weight, 0, 0, 5);
  }
  Tensor weight;
  const LayerNorm& norm;
};

TEST(NnCheckpointed, OneWeightUsedSeveralTimes) {
  expect_same_bits([](Initializer& init) { return std::make_unique<Tied>(init); }, {2, 5, 8});
}

TEST(NnCheckpointed, KeepsFewerBytes) {
  Initializer init{.seed = 4};
  const TransformerBlock block(8, init, {.heads = 2});
  const Tensor x = zeros({2, 16, 8}).require_grad();
  const auto storages_kept = [&](auto&& run) {
    const int64_t before = Storage::live();
    const Tensor y = run();
    return Storage::live() - before;
  };
  EXPECT_EQ(storages_kept([&] { return checkpointed(block, x); }), 1);
  EXPECT_GT(storages_kept([&] { return block(x); }), 5);
}

TEST(NnCheckpointed, RefusesModulesThatAreTooLarge) {
  Initializer init{.seed = 4};
  Sequential net;
  for (int i = 0; i < 31; ++i) net.then<LayerNorm>(3, init);
  EXPECT_EQ(error_of<ValueError>([&] {
              checkpointed(net, zeros({2, 3}));
            }),
            "checkpoint: too many tensors: 63 of at most 62. Checkpoint a smaller piece of the "
            "model.");
}

}  // namespace
}  // namespace plimsoll::nn
