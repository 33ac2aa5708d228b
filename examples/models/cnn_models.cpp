#include "examples/models/cnn_models.h"

#include <algorithm>

#include "examples/models/resnet.h"
#include "nn/conv.h"
#include "nn/layers.h"
#include "nn/linear.h"
#include "nn/norm.h"
#include "nn/sequential.h"
#include "ops/ops.h"

namespace plimsoll::examples {
namespace {

using nn::Initializer;

void add_lenet(Staged& net, ImageSize image, Initializer& init) {
  net.stage<nn::Sequential>("conv1")
      .then<nn::Conv2d>(image.channels, 32, 5, init, nn::Conv2dOptions{.padding = 2})
      .then<nn::ReLU>()
      .then<nn::MaxPool2d>();
  net.stage<nn::Sequential>("conv2")
      .then<nn::Conv2d>(32, 64, 5, init, nn::Conv2dOptions{.padding = 2})
      .then<nn::ReLU>()
      .then<nn::MaxPool2d>();
  net.stage<nn::Sequential>("dense")
      .then<nn::Flatten>()
      .then<nn::Linear>(image.height / 4 * (image.width / 4) * 64, 1024, init)
      .then<nn::ReLU>()
      .then<nn::Linear>(1024, image.classes, init);
}

void add_sepcnn(Staged& net, ImageSize image, Initializer& init) {
  int64_t channels = image.channels;
  for (const int64_t filters : {32, 64}) {
    net.stage<nn::Sequential>(cat("conv", filters))
        .then<nn::SeparableConv2d>(channels, filters, 3, init,
                                   nn::SeparableConv2dOptions{.padding = 1})
        .then<nn::ReLU>()
        .then<nn::MaxPool2d>();
    channels = filters;
  }
  net.stage<nn::Sequential>("dense")
      .then<nn::Flatten>()
      .then<nn::Linear>(image.height / 4 * (image.width / 4) * channels, 64, init)
      .then<nn::ReLU>()
      .then<nn::Linear>(64, image.classes, init);
}

// relu(x + bn(conv(relu(bn(conv(x)))))), with a 1x1 convolution beside it where the size changes.
class ResidualBlock : public nn::Module {
 public:
  ResidualBlock(int64_t in, int64_t out, int64_t stride, Initializer& init)
      : conv1_(add<nn::Conv2d>("conv1", in, out, 3, init,
                               nn::Conv2dOptions{.stride = stride, .padding = 1, .bias = false})),
        norm1_(add<nn::BatchNorm2d>("norm1", out, init)),
        conv2_(add<nn::Conv2d>("conv2", out, out, 3, init,
                               nn::Conv2dOptions{.padding = 1, .bias = false})),
        norm2_(add<nn::BatchNorm2d>("norm2", out, init)),
        shortcut_(in == out && stride == 1
                      ? nullptr
                      : &add<nn::Conv2d>("shortcut", in, out, 1, init,
                                         nn::Conv2dOptions{.stride = stride})) {}

  Tensor forward(const Tensor& x, const nn::Mode& mode) const override {
    const Tensor h = relu(norm1_(conv1_(x, mode), mode));
    const Tensor past = shortcut_ ? (*shortcut_)(x, mode) : x;
    return relu(norm2_(conv2_(h, mode), mode) + past);
  }

 private:
  const nn::Conv2d& conv1_;
  const nn::BatchNorm2d& norm1_;
  const nn::Conv2d& conv2_;
  const nn::BatchNorm2d& norm2_;
  const nn::Conv2d* shortcut_;
};

void add_resnet8(Staged& net, ImageSize image, Initializer& init) {
  net.stage<nn::Sequential>("stem")
      .then<nn::Conv2d>(image.channels, 16, 3, init, nn::Conv2dOptions{.padding = 1, .bias = false})
      .then<nn::BatchNorm2d>(16, init)
      .then<nn::ReLU>();
  net.stage<ResidualBlock>("block1", 16, 16, 1, init);
  net.stage<ResidualBlock>("block2", 16, 32, 2, init);
  net.stage<ResidualBlock>("block3", 32, 64, 2, init);
  net.stage<nn::Sequential>("head").then<nn::GlobalAvgPool>().then<nn::Linear>(64, image.classes,
                                                                               init);
}

void add_vgg(Staged& net, ImageSize image, Initializer& init) {
  int64_t channels = image.channels;
  for (const int64_t filters : {64, 128, 256}) {
    auto& stage = net.stage<nn::Sequential>(cat("conv", filters));
    for (const int64_t from : {channels, filters})
      stage.then<nn::Conv2d>(from, filters, 3, init, nn::Conv2dOptions{.padding = 1, .bias = false})
          .then<nn::BatchNorm2d>(filters, init)
          .then<nn::ReLU>();
    stage.then<nn::MaxPool2d>();
    channels = filters;
  }
  net.stage<nn::Sequential>("dense")
      .then<nn::Flatten>()
      .then<nn::Linear>(image.height / 8 * (image.width / 8) * channels, 512, init)
      .then<nn::ReLU>()
      .then<nn::Linear>(512, image.classes, init);
}

constexpr ImageSize kMnist{28, 28, 1, 10}, kCifar{32, 32, 3, 10}, kImageNet{224, 224, 3, 1000};

struct Entry {
  const char* name;
  void (*add)(Staged&, ImageSize, Initializer&);
  ImageSize images;                       // it was made for
  int64_t pooled = 0, flattened = 0;      // what dense layers see: an image so much smaller, its
                                          // channels; 0: nothing is flattened
  nn::TorchLayout (*layout)() = nullptr;  // of published weights
};
constexpr Entry kModels[] = {
    {"lenet", add_lenet, kMnist, 4, 64},
    {"sepcnn", add_sepcnn, kCifar, 4, 64},
    {"resnet8", add_resnet8, kCifar},
    {"vgg", add_vgg, kCifar, 8, 256},
    {"resnet50", add_resnet50, kImageNet, 0, 0, resnet_torch_layout},
    {"resnet18-cifar", add_resnet18_cifar, kCifar, 0, 0, resnet_torch_layout}};

const Entry* entry_named(const std::string& name) {
  const auto found =
      std::ranges::find_if(kModels, [&](const Entry& entry) { return name == entry.name; });
  return found == std::end(kModels) ? nullptr : found;
}

const Entry& known_entry(const std::string& name) {
  const Entry* const entry = entry_named(name);
  std::string all;
  for (const std::string& known : cnn_names()) all += (all.empty() ? "" : ", ") + known;
  check<UsageError>(entry != nullptr, "make_cnn: no such model: ", name, ". Use one of ", all, ".");
  return *entry;
}

}  // namespace

const std::vector<std::string>& cnn_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Entry& entry : kModels) all.emplace_back(entry.name);
    return all;
  }();
  return names;
}

std::unique_ptr<Staged> make_cnn(const std::string& name, ImageSize image, bool checkpoint,
                                 Initializer& init) {
  check<UsageError>(image.height >= 8 && image.width >= 8,
                    "make_cnn: the images are too small: ", image.height, " x ", image.width,
                    ". Use images of at least 8 x 8.");
  const Entry& entry = known_entry(name);
  auto net = std::make_unique<Staged>(checkpoint);
  entry.add(*net, image, init);
  return net;
}

ImageSize own_images(const std::string& name) { return known_entry(name).images; }

bool is_published(const std::string& name) { return known_entry(name).layout != nullptr; }

nn::TorchLayout cnn_torch_layout(const std::string& name, ImageSize image) {
  const Entry* const entry = entry_named(name);
  if (!entry) return {};
  if (entry->layout) return entry->layout();
  if (entry->pooled == 0) return {};
  return {.flattened = {
              {"dense.1",
               {image.height / entry->pooled, image.width / entry->pooled, entry->flattened}}}};
}

}  // namespace plimsoll::examples
