// Modules as trees of names; one seed, one model; sequences of modules.
#include "memory/pool/pooled_allocator.h"
#include "ops/pointwise/arithmetic/arithmetic.h"
#include "ops/pointwise/relu/relu.h"
#include "tests/nn/testing.h"

namespace plimsoll::nn {
namespace {

// The example of nn/module.h.
struct Mlp : Module {
  explicit Mlp(Initializer& init)
      : hidden(add<Linear>("hidden", 6, 4, init)), out(add<Linear>("out", 4, 3, init)) {}
  Tensor forward(const Tensor& x, const Mode& mode) const override {
    return out(relu(hidden(x, mode)), mode);
  }
  const Linear &hidden, &out;
};

// Gives the tests a way to register anything.
struct Open : Module {
  using Module::add;
  using Module::add_buffer;
  using Module::add_parameter;
  Tensor forward(const Tensor& x, const Mode&) const override { return x; }
};

TEST(NnModule, NamesFollowTheOrderOfRegistration) {
  Initializer init{.seed = 1};
  Open root;
  Open& blocks = root.add<Open>("blocks");
  root.add_parameter("scale", ones({2}));
  blocks.add<Mlp>("0", init);
  blocks.add<BatchNorm2d>("1", 5, init);
  root.add_buffer("table", zeros({3}));
  EXPECT_EQ(names(root.named_parameters()),
            (std::vector<std::string>{"scale", "blocks.0.hidden.weight", "blocks.0.hidden.bias",
                                      "blocks.0.out.weight", "blocks.0.out.bias", "blocks.1.gamma",
                                      "blocks.1.beta"}));
  EXPECT_EQ(names(root.named_buffers()), (std::vector<std::string>{"table", "blocks.1.running_mean",
                                                                   "blocks.1.running_variance"}));
  EXPECT_EQ(root.parameter_count(), 2 + 24 + 4 + 12 + 3 + 5 + 5);
  ASSERT_EQ(root.parameters().size(), 7u);
  for (const Tensor& parameter : root.parameters()) {
    EXPECT_TRUE(parameter.needs_grad());
    EXPECT_EQ(parameter.value().storage->memory_class(), MemoryClass::parameter);
  }
  for (const NamedTensor& buffer : root.named_buffers()) {
    EXPECT_FALSE(buffer.tensor.needs_grad());
    EXPECT_EQ(buffer.tensor.value().storage->memory_class(), MemoryClass::parameter);
  }
}

TEST(NnModule, HandlesSeeWhatTrainingWrites) {
  Initializer init{.seed = 1, .placement = kDouble};
  const Mlp model(init);
  const Tensor before = model.parameters()[3];  // out.bias
  const Tensor x = draw({2, 6}, 1);
  const Doubles y = values(model(x));
  assign(model.parameters()[3], affine(before, 1, 10));
  EXPECT_EQ(values(before), values(model, "out.bias"));
  Doubles raised = y;
  for (double& v : raised) v += 10;
  EXPECT_LE(distance(values(model(x)), raised), 1e-14);
}

TEST(NnModule, OneSeedGivesOneModel) {
  Initializer first{.seed = 7}, again{.seed = 7}, other{.seed = 8};
  const Mlp a(first), b(again), c(other), d(first);
  for (const char* name : {"hidden.weight", "hidden.bias", "out.weight", "out.bias"}) {
    EXPECT_EQ(values(a, name), values(b, name));
    EXPECT_NE(values(a, name), values(c, name));
    EXPECT_NE(values(a, name), values(d, name));  // the next one of the same initializer
  }
}

TEST(NnModule, ParametersAreCountedAsParameters) {
  const auto pool = std::make_shared<PooledAllocator>(host_provider());
  const AllocatorScope scope(pool);
  Initializer init{.seed = 1};
  const Linear layer(32, 16, init);
  const auto parameters = static_cast<size_t>(MemoryClass::parameter);
  EXPECT_EQ(pool->stats().by_class[parameters], (32 + 1) * 16 * 4);
  EXPECT_EQ(pool->stats().in_use, (32 + 1) * 16 * 4);
}

TEST(NnModule, SequentialRunsItsStepsInOrder) {
  Initializer init{.seed = 3, .placement = kDouble};
  Sequential net;
  net.then<Linear>(6, 5, init).then<ReLU>().append(std::make_unique<Linear>(5, 2, init));
  EXPECT_EQ(names(net.named_parameters()),
            (std::vector<std::string>{"0.weight", "0.bias", "2.weight", "2.bias"}));
  const Tensor x = draw({3, 6}, 1);
  Doubles h = plain_linear(values(x), values(net, "0.weight"), values(net, "0.bias"), 6);
  for (double& v : h) v = std::max(v, 0.0);
  const Doubles y = plain_linear(h, values(net, "2.weight"), values(net, "2.bias"), 5);
  EXPECT_LE(distance(values(net(x)), y), 1e-14);
  EXPECT_EQ(values(net[2](net[1](net[0](x)))), values(net(x)));
  EXPECT_EQ(net.size(), 3u);
  EXPECT_EQ(values(Sequential()(x)), values(x));
}

TEST(NnModule, RefusesBadNamesAndMoments) {
  Open module;
  module.add_parameter("weight", ones({2}));
  EXPECT_EQ(error_of<ValueError>([&] { module.add_buffer("weight", ones({2})); }),
            "module: the name \"weight\" is taken. Choose another.");
  EXPECT_EQ(error_of<ValueError>([&] { module.add<Open>("a.b"); }),
            "module: \"a.b\" cannot be a name. Names are not empty and have no dots.");
  EXPECT_EQ(error_of<ValueError>([&] { module.add("child", std::unique_ptr<Open>()); }),
            "module: \"child\" is a null pointer. Pass a module.");
  EXPECT_EQ(error_of<StateError>([&] { module.add_parameter("none", Tensor()); }),
            "module: \"none\" is an undefined tensor. Give it a value.");
  EXPECT_EQ(error_of<StateError>([&] { module.add_buffer("none", Tensor()); }),
            "module: \"none\" is an undefined tensor. Give it a value.");
  const auto build_inside = [&](std::span<const Tensor> in) {
    module.add_parameter("late", ones({2}));
    return std::vector{in[0]};
  };
  EXPECT_EQ(error_of<StateError>([&] { capture(build_inside, std::vector<Meta>{{Shape{2}}}); }),
            "module: \"late\" is made while a step is being captured: f32 [2] on cpu. Build the "
            "model before the step.");
  EXPECT_EQ(names(module.named_parameters()), std::vector<std::string>{"weight"});
}

}  // namespace
}  // namespace plimsoll::nn
