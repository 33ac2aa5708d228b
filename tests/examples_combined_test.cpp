// What the nets of the examples have of batch norm with the sum and relu behind it, and that running
// these as one op takes no more bytes (docs/fusion.md has the numbers).
#include <gtest/gtest.h>

#include <algorithm>

#include "autograd/autocast.h"
#include "autograd/gradients.h"
#include "examples/common/cnn_models.h"
#include "memory/step.h"
#include "ops/ops.h"
#include "optim/sgd.h"

namespace plimsoll::examples {
namespace {

struct Net {
  const char* name;
  ImageSize image;
  int64_t batch;
  int norms, combined, gradients;  // combined forward and backward
};

int count_of(const Program& program, std::initializer_list<std::string_view> names) {
  return static_cast<int>(std::ranges::count_if(program.instructions, [&](const Instruction& i) {
    return std::ranges::find(names, std::string_view(i.op->name)) != names.end();
  }));
}

class ExamplesCombined : public testing::TestWithParam<Net> {};

TEST_P(ExamplesCombined, TakesNoMoreBytes) {
  const Net& net = GetParam();
  nn::Build build{.seed = 1};
  const auto model = make_cnn(net.name, net.image, false, build);
  const std::vector<Tensor> parameters = model->parameters();
  optim::SGD optimizer(parameters, {.momentum = 0.9});
  for (const Precision precision : {Precision::f32, Precision::f16}) {
    const auto train = [&](const Tensor& x, const Tensor& y, const Tensor& key) {
      const Autocast scope(precision);
      const Tensor loss = cross_entropy((*model)(x, nn::training(key)), y);
      optimizer.update(gradients(loss, parameters));
      return loss;
    };
    Step plain(train), combined(train, {.fusion = {.norms = true}});
    const Metas metas{{{net.batch, net.image.height, net.image.width, net.image.channels}},
                      {{net.batch}, DType::i64},
                      make_key(1, 1).meta()};
    EXPECT_LE(combined.plan(metas).arena_bytes, plain.plan(metas).arena_bytes);
    const Program& program = combined.program(metas);
    EXPECT_EQ(count_of(program, {"batch_norm_relu"}), net.combined);
    EXPECT_EQ(count_of(program, {"batch_norm"}), net.norms - net.combined);
    const int gradients = count_of(program, {"batch_norm_relu_grad", "batch_norm_add_relu_grad"});
    EXPECT_GE(gradients, net.gradients);
    EXPECT_EQ(count_of(program, {"batch_norm_grad"}), net.norms - gradients);
  }
}

// Of 53 norms of resnet50 four have no relu behind them: those of the shortcuts, whose sums are
// with another norm. One gradient would need more memory at the peak.
INSTANTIATE_TEST_SUITE_P(, ExamplesCombined,
                         testing::Values(Net{"resnet8", {32, 32, 3, 10}, 128, 7, 7, 7},
                                         Net{"vgg", {32, 32, 3, 10}, 128, 6, 6, 6},
                                         Net{"resnet18-cifar", {32, 32, 3, 10}, 512, 20, 17, 17},
                                         Net{"resnet50", {224, 224, 3, 1000}, 256, 53, 49, 48}),
                         [](const auto& info) {
                           std::string name = info.param.name;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace plimsoll::examples
