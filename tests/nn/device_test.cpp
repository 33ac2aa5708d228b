// Modules on the device without bytes, under capture, and their gradients in f64.
#include "autograd/gradients.h"
#include "autograd/no_grad.h"
#include "ops/pointwise/arithmetic/arithmetic.h"
#include "ops/reduction/sum/sum.h"
#include "tests/nn/testing.h"

namespace plimsoll::nn {
namespace {

Sequential& image_net(Sequential& net, Initializer& init) {
  return net.then<Conv2d>(2, 4, 3, init, Conv2dOptions{.padding = 1})
      .then<BatchNorm2d>(4, init)
      .then<ReLU>()
      .then<SeparableConv2d>(4, 6, 3, init)
      .then<AvgPool2d>(2)
      .then<Flatten>()
      .then<Linear>(24, 3, init);
}

Sequential& text_net(Sequential& net, Initializer& init) {
  return net.then<Embedding>(11, 4, init)
      .then<LearnedPositions>(6, 4, init)
      .then<SinusoidalPositions>(6, 4, init)
      .then<TransformerBlock>(4, init, TransformerOptions{.heads = 2, .dropout = 0.1})
      .then<LayerNorm>(4, init)
      .then<Linear>(4, 11, init);
}

TEST(NnDevice, NullDeviceHasShapesOnly) {
  Initializer init{.seed = 1, .placement = kNull};
  Sequential images, text;
  image_net(images, init);
  text_net(text, init);
  const Tensor x = zeros({5, 6, 6, 2}, kNull);
  const Tensor ids = zeros({2, 6}, {.dtype = DType::i64, .device = Device::null});
  const Tensor key = zeros({2}, {.dtype = DType::i64, .device = Device::null});
  for (const auto& [y, shape] : {std::pair{images(x, training()), Shape{5, 3}},
                                 std::pair{text(ids, training(key)), Shape{2, 6, 11}}}) {
    EXPECT_EQ(y.meta(), (Meta{shape, DType::f32, Device::null}));
  }
  const std::vector<Tensor> parameters = images.parameters();
  const std::vector<Tensor> found = gradients(sum(images(x, training())), parameters);
  for (size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i].meta(), parameters[i].meta());
  assign(parameters[0], zeros(parameters[0].shape(), kNull));  // nothing to write
  EXPECT_EQ(init::truncated_normal({3, 2}, 1, init).meta(),
            (Meta{{3, 2}, DType::f32, Device::null}));
}

// Capturing a step runs nothing: the module's tensors appear in the program as they are.
TEST(NnDevice, CaptureTakesTensorsFromOutside) {
  Initializer init{.seed = 1};
  Sequential net;
  image_net(net, init);
  const Doubles before = values(net, "1.running_mean");
  const Program program =
      capture([&](std::span<const Tensor> in) { return std::vector{net(in[0], training())}; },
              std::vector<Meta>{{Shape{5, 6, 6, 2}}});
  size_t outside = 0;
  for (const Buffer& buffer : program.buffers) outside += buffer.kind == Buffer::Kind::external;
  EXPECT_EQ(outside, net.parameters().size() + net.named_buffers().size());
  EXPECT_EQ(values(net, "1.running_mean"), before);
}

// d<u, module(x)> for x and every parameter against central differences, element by element.
void expect_gradients(const Module& module, Tensor x, const Mode& mode) {
  shake(module, 30);
  std::vector<Tensor> wanted = module.parameters();
  if (x.dtype() == DType::f64) wanted.push_back(x = x.require_grad());
  const Tensor u = draw(module(x, mode).shape(), 77);
  const auto loss = [&] { return sum(module(x, mode) * u); };
  const std::vector<Tensor> analytic = gradients(loss(), wanted);
  const NoGrad scope;
  constexpr double kStep = 1e-5;
  for (size_t k = 0; k < wanted.size(); ++k) {
    Doubles numeric;
    for (double* p = wanted[k].data<double>(); std::ssize(numeric) < wanted[k].count(); ++p) {
      const double before = *p;
      *p = before + kStep;
      const double above = loss().item();
      *p = before - kStep;
      const double below = loss().item();
      *p = before;
      numeric.push_back((above - below) / (2 * kStep));
    }
    const Doubles found = values(analytic[k]);
    for (size_t i = 0; i < numeric.size(); ++i)
      EXPECT_NEAR(found[i], numeric[i], 1e-6 * std::max(1.0, std::abs(numeric[i])))
          << "tensor " << k << ", element " << i;
  }
}

TEST(NnGradients, ImageNet) {
  Initializer init{.seed = 5, .placement = kDouble};
  Sequential net;
  image_net(net, init);
  expect_gradients(net, draw({2, 6, 6, 2}, 8), training());
  expect_gradients(net, draw({2, 6, 6, 2}, 8), evaluation());
}

TEST(NnGradients, TextNet) {
  Initializer init{.seed = 6, .placement = kDouble};
  Sequential net;
  text_net(net, init);
  const Tensor ids = Tensor::of<int64_t>({3, 1, 4, 1, 5, 9, 2, 6, 5, 3}, {2, 5});
  expect_gradients(net, ids, training(make_key(1, 1)));
}

TEST(NnGradients, TransformerBlocks) {
  for (const NormOrder order : {NormOrder::pre, NormOrder::post}) {
    Initializer init{.seed = 7, .placement = kDouble};
    const TransformerBlock block(4, init,
                                 {.heads = 2,
                                  .feed_forward = 6,
                                  .causal = true,
                                  .dropout = 0.2,
                                  .norm = order,
                                  .activation = Activation::gelu_tanh});
    expect_gradients(block, draw({2, 4, 4}, 9), training(make_key(1, 1)));
  }
}

}  // namespace
}  // namespace plimsoll::nn
