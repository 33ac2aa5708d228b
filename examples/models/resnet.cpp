#include "examples/models/resnet.h"

#include "nn/conv.h"
#include "nn/init.h"
#include "nn/layers.h"
#include "nn/linear.h"
#include "nn/norm.h"
#include "nn/sequential.h"
#include "ops/ops.h"

namespace plimsoll::examples {
namespace {

using nn::Initializer;

struct Filters {
  int64_t kernel, channels, stride;
};

// relu(x + bn(conv(... relu(bn(conv(x)))))), beside it a 1x1 convolution and a norm where the size
// changes.
class Residual : public nn::Module {
 public:
  Residual(int64_t in, std::span<const Filters> all, Initializer& init) {
    int64_t channels = in, stride = 1;
    for (const Filters& f : all) {
      const std::string number = cat(layers_.size() + 1);
      const nn::Conv2dOptions options{.stride = f.stride, .padding = f.kernel / 2, .bias = false};
      const auto& conv =
          add<nn::Conv2d>("conv" + number, channels, f.channels, f.kernel, init, options);
      layers_.emplace_back(&conv, &add<nn::BatchNorm2d>("bn" + number, f.channels, init));
      channels = f.channels;
      stride *= f.stride;
    }
    if (channels == in && stride == 1) return;
    downsample_ = &add<nn::Sequential>("downsample")
                       .then<nn::Conv2d>(in, channels, 1, init,
                                         nn::Conv2dOptions{.stride = stride, .bias = false})
                       .then<nn::BatchNorm2d>(channels, init);
  }

  Tensor forward(const Tensor& x, const nn::Mode& mode) const override {
    Tensor h = x;
    for (const auto& [conv, norm] : layers_) {
      h = (*norm)((*conv)(h, mode), mode);
      if (norm != layers_.back().second) h = relu(h);
    }
    return relu(h + (downsample_ ? (*downsample_)(x, mode) : x));
  }

 private:
  std::vector<std::pair<const nn::Conv2d*, const nn::BatchNorm2d*>> layers_;
  const nn::Sequential* downsample_ = nullptr;
};

// Four layers of blocks, the first block of all but the first with stride 2; then mean and dense.
template <class BlockOf>
void add_blocks(Staged& net, std::array<int, 4> depths, BlockOf block_of, int64_t classes,
                Initializer& init) {
  int64_t in = 64, width = 64;
  for (size_t layer = 0; layer < depths.size(); ++layer, width *= 2)
    for (int block = 0; block < depths[layer]; ++block) {
      const auto filters = block_of(width, layer > 0 && block == 0 ? 2 : 1);
      net.stage<Residual>(cat("layer", layer + 1, "_", block), in, filters, init);
      in = filters.back().channels;
    }
  net.stage<nn::Sequential>("head").then<nn::GlobalAvgPool>().then<nn::Linear>(in, classes, init);
  for (const auto& [name, tensor] : net.named_parameters())
    if (tensor.rank() == 4)
      nn::assign(tensor,
                 nn::init::kaiming_normal(tensor.shape(), init, {.fan = nn::init::Fan::out}));
}

}  // namespace

void add_resnet50(Staged& net, ImageSize image, Initializer& init) {
  net.stage<nn::Sequential>("stem")
      .then<nn::Conv2d>(image.channels, 64, 7, init,
                        nn::Conv2dOptions{.stride = 2, .padding = 3, .bias = false})
      .then<nn::BatchNorm2d>(64, init)
      .then<nn::ReLU>()
      .then<nn::MaxPool2d>(3, nn::PoolOptions{.stride = 2, .padding = 1});
  const auto bottleneck = [](int64_t width, int64_t stride) {
    return std::array<Filters, 3>{{{1, width, 1}, {3, width, stride}, {1, 4 * width, 1}}};
  };
  add_blocks(net, {3, 4, 6, 3}, bottleneck, image.classes, init);
}

void add_resnet18_cifar(Staged& net, ImageSize image, Initializer& init) {
  net.stage<nn::Sequential>("stem")
      .then<nn::Conv2d>(image.channels, 64, 3, init, nn::Conv2dOptions{.padding = 1, .bias = false})
      .then<nn::BatchNorm2d>(64, init)
      .then<nn::ReLU>();
  const auto basic = [](int64_t width, int64_t stride) {
    return std::array<Filters, 2>{{{3, width, stride}, {3, width, 1}}};
  };
  add_blocks(net, {2, 2, 2, 2}, basic, image.classes, init);
}

nn::TorchLayout resnet_torch_layout() {
  return {.renames = {{"stem.0.", "conv1."},
                      {"stem.1.", "bn1."},
                      {"layer1_", "layer1."},
                      {"layer2_", "layer2."},
                      {"layer3_", "layer3."},
                      {"layer4_", "layer4."},
                      {"head.1.", "fc."}}};
}

}  // namespace plimsoll::examples
