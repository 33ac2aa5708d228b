// Residual nets as torchvision has them (He et al., "Deep Residual Learning for Image Recognition",
// 2016): x [N, H, W, C] -> logits [N, classes].
//
// resnet50        conv 7x7 64 with stride 2, max pool; 3, 4, 6, 3 blocks of 1x1, 3x3 and 1x1
//                 convolutions, of 256, 512, 1024 and 2048 channels, the stride of a block in its
//                 3x3 ("v1.5"); mean over the image, dense. 25,557,032 parameters with 1000
//                 classes.
// resnet18-cifar  for images of 32 x 32: conv 3x3 64, no pool; 2, 2, 2, 2 blocks of two 3x3
//                 convolutions, of 64, 128, 256 and 512 channels; mean, dense. 11,173,962
//                 parameters with 10 classes.
//
// Each convolution is followed by batch norm and has no bias. Filters start from
// N(0, 2 / fan out), gains of norms at 1, those at the end of a block too, as in torchvision.
#pragma once

#include "examples/models/cnn_models.h"

namespace plimsoll::examples {

void add_resnet50(Staged& net, ImageSize image, nn::Initializer& init);
void add_resnet18_cifar(Staged& net, ImageSize image, nn::Initializer& init);

// Their names in torchvision: conv1, bn1, layer1.0.conv1, ..., layer2.0.downsample.0, ..., fc.
nn::TorchLayout resnet_torch_layout();

}  // namespace plimsoll::examples
