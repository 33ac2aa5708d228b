// The image classifiers of train_cnn and compare_memory: x [N, H, W, C] -> logits [N, classes].
#pragma once

#include <memory>

#include "examples/models/staged.h"
#include "nn/torch_layout.h"

namespace plimsoll::examples {

struct ImageSize {
  int64_t height, width, channels, classes;
};

// lenet    conv 5x5 32, pool, conv 5x5 64, pool, dense 1024, dense
//          (LeCun et al., "Gradient-based learning applied to document recognition", 1998, in the
//          wider form that tutorials train on MNIST)
// sepcnn   separable conv 32, pool, separable conv 64, pool, flatten, dense 64, dense
//          (the CIFAR-10 network of TensorFlow's guides)
// resnet8  conv 16, then three residual blocks of 16, 32 and 64 channels, mean over the image,
//          dense
//          (He et al., "Deep Residual Learning for Image Recognition", 2016; size of MLPerf Tiny)
// vgg      three times two convs 3x3 and a pool, of 64, 128 and 256 channels, each conv with batch
//          norm; dense 512, dense
//          (Simonyan and Zisserman, "Very Deep Convolutional Networks", 2015, cut to 32 x 32)
// resnet50, resnet18-cifar    see resnet.h
const std::vector<std::string>& cnn_names();

// UsageError for another name, or images too small for it.
std::unique_ptr<Staged> make_cnn(const std::string& name, ImageSize image, bool checkpoint,
                                 nn::Initializer& init);

// The images that the model was made for: what --data synthetic draws. UsageError for another name.
ImageSize own_images(const std::string& name);

// Whether it is one that others have published, and measure with images of its own size. UsageError
// for another name.
bool is_published(const std::string& name);

// What torch_state() has to know of it: the image that the first dense layer sees flattened; for
// the resnets the names of torchvision.
nn::TorchLayout cnn_torch_layout(const std::string& name, ImageSize image);

}  // namespace plimsoll::examples
