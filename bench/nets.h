// The nets that bench/recompute plans, each with a way to put its blocks under checkpoints by hand:
// a transformer, residual nets (He et al., "Deep residual learning for image recognition", 2015), a
// U-Net and a densely connected net.
//
//   const Subject subject = resnet(56, 32, init);    // of 32 images
//   subject.checkpoint(3);   // from now on forward() keeps what lies between every third
#pragma once

#include <functional>

#include "autograd/checkpoint.h"
#include "nn/checkpointed.h"
#include "nn/nn.h"
#include "ops/ops.h"

namespace plimsoll::bench {

// Blocks one after another, every `group` of them under one checkpoint; 0: none.
class Chain : public nn::Module {
 public:
  template <class M, class... Args>
  void then(Args&&... args) {
    blocks_.push_back(&add<M>(cat("block", blocks_.size()), std::forward<Args>(args)...));
  }
  size_t size() const { return blocks_.size(); }
  size_t group = 0;

  Tensor forward(const Tensor& x, const nn::Mode& mode) const override {
    Tensor y = x;
    for (size_t i = 0; i < blocks_.size(); i += std::max<size_t>(group, 1)) {
      const Part part(blocks_, i, std::min(blocks_.size(), i + std::max<size_t>(group, 1)));
      // The last part's backward pass begins at once.
      y = group > 0 && part.end < blocks_.size() ? part.checkpointed(y, mode) : part(y, mode);
    }
    return y;
  }

 private:
  struct Part {
    Part(const std::vector<const nn::Module*>& all, size_t first, size_t last)
        : blocks(all), begin(first), end(last) {}
    Tensor operator()(Tensor x, const nn::Mode& mode) const {
      for (size_t i = begin; i < end; ++i) x = blocks[i]->forward(x, mode);
      return x;
    }
    Tensor checkpointed(const Tensor& x, const nn::Mode& mode) const {
      std::vector<Tensor> given{x};
      for (size_t i = begin; i < end; ++i)
        for (const Tensor& p : blocks[i]->parameters()) given.push_back(p);
      return checkpoint(
          [part = *this, mode](std::span<const Tensor> in) { return part(in[0], mode); }, given);
    }
    const std::vector<const nn::Module*>& blocks;
    size_t begin, end;
  };
  std::vector<const nn::Module*> blocks_;
};

class ConvNormRelu : public nn::Module {
 public:
  ConvNormRelu(int64_t in, int64_t out, nn::Initializer& init, int64_t stride = 1)
      : conv_(add<nn::Conv2d>("conv", in, out, 3, init,
                              nn::Conv2dOptions{.stride = stride, .padding = 1, .bias = false})),
        norm_(add<nn::BatchNorm2d>("norm", out, init)) {}
  Tensor forward(const Tensor& x, const nn::Mode& mode) const override {
    return relu(norm_(conv_(x, mode), mode));
  }

 private:
  const nn::Conv2d& conv_;
  const nn::BatchNorm2d& norm_;
};

class Residual : public nn::Module {
 public:
  Residual(int64_t in, int64_t out, nn::Initializer& init)
      : first_(add<ConvNormRelu>("first", in, out, init, in == out ? 1 : 2)),
        conv_(add<nn::Conv2d>("conv", out, out, 3, init,
                              nn::Conv2dOptions{.padding = 1, .bias = false})),
        norm_(add<nn::BatchNorm2d>("norm", out, init)),
        shortcut_(in == out ? nullptr
                            : &add<nn::Conv2d>("shortcut", in, out, 1, init,
                                               nn::Conv2dOptions{.stride = 2, .bias = false})) {}
  Tensor forward(const Tensor& x, const nn::Mode& mode) const override {
    const Tensor past = shortcut_ ? (*shortcut_)(x, mode) : x;
    return relu(norm_(conv_(first_(x, mode), mode), mode) + past);
  }

 private:
  const ConvNormRelu& first_;
  const nn::Conv2d& conv_;
  const nn::BatchNorm2d& norm_;
  const nn::Conv2d* shortcut_;
};

// x, and beside it what a convolution makes of it (Huang et al., "Densely Connected Convolutional
// Networks", 2017).
class Dense : public nn::Module {
 public:
  Dense(int64_t in, int64_t growth, nn::Initializer& init)
      : layer_(add<ConvNormRelu>("layer", in, growth, init)) {}
  Tensor forward(const Tensor& x, const nn::Mode& mode) const override {
    return concat(std::vector{x, layer_(x, mode)}, -1);
  }

 private:
  const ConvNormRelu& layer_;
};

// Down and up again, with what was seen on the way down beside it (Ronneberger et al., "U-Net",
// 2015). Under a checkpoint each pair of convolutions keeps its input alone.
class UNet : public nn::Module {
 public:
  UNet(int64_t levels, int64_t width, nn::Initializer& init) {
    int64_t in = 3;
    for (int64_t i = 0; i < levels; ++i, in = width, width *= 2)
      down_.push_back(&pair(cat("down", i), in, width, init));
    for (int64_t i = levels - 1; i-- > 0; in /= 2) {
      const int64_t out = in / 2;
      up_.push_back(&add<nn::ConvTranspose2d>(cat("lift", i), in, out, 2, init,
                                              nn::ConvTranspose2dOptions{.stride = 2}));
      join_.push_back(&pair(cat("join", i), 2 * out, out, init));
    }
  }
  bool checkpointed = false;

  Tensor forward(const Tensor& x, const nn::Mode& mode) const override {
    std::vector<Tensor> seen{run(*down_[0], x, mode)};
    for (size_t i = 1; i < down_.size(); ++i)
      seen.push_back(run(*down_[i], max_pool2d(seen.back(), {}), mode));
    Tensor y = seen.back();
    for (size_t k = 0; k < up_.size(); ++k) {
      const Tensor lifted = up_[k]->forward(y, mode);
      y = run(*join_[k], concat(std::vector{seen[seen.size() - 2 - k], lifted}, -1), mode);
    }
    return y;
  }

 private:
  nn::Sequential& pair(const std::string& name, int64_t in, int64_t out, nn::Initializer& init) {
    nn::Sequential& both = add<nn::Sequential>(name);
    both.then<ConvNormRelu>(in, out, init).then<ConvNormRelu>(out, out, init);
    return both;
  }
  Tensor run(const nn::Sequential& part, const Tensor& x, const nn::Mode& mode) const {
    return checkpointed ? nn::checkpointed(part, x, mode) : part.forward(x, mode);
  }
  std::vector<const nn::Sequential*> down_, join_;
  std::vector<const nn::ConvTranspose2d*> up_;
};

// One of them with what it is fed.
struct Subject {
  std::string name;
  std::unique_ptr<nn::Module> net;
  std::function<void(size_t)> checkpoint;  // every so many blocks; 0: none
  size_t blocks = 0;                       // that can be grouped; 0: they cannot
  Tensor x;
};

inline Subject chain(const std::string& name, std::unique_ptr<Chain> net, Tensor x) {
  Chain* const blocks = net.get();
  return {name, std::move(net), [=](size_t group) { blocks->group = group; }, blocks->size(), x};
}

inline Subject gpt(int64_t layers, int64_t batch, nn::Initializer& init) {
  auto net = std::make_unique<Chain>();
  for (int64_t i = 0; i < layers; ++i)
    net->then<nn::TransformerBlock>(
        256, init, nn::TransformerOptions{.heads = 8, .causal = true, .dropout = 0.1});
  return chain(cat("gpt, ", layers, " blocks"), std::move(net),
               uniform({batch, 256, 256}, -1, 1, 1));
}

inline Subject resnet(int64_t depth, int64_t batch, nn::Initializer& init) {
  auto net = std::make_unique<Chain>();
  net->then<ConvNormRelu>(3, 16, init);
  int64_t in = 16;
  for (const int64_t out : {16, 32, 64})
    for (int64_t i = 0; i < (depth - 2) / 6; ++i, in = out) net->then<Residual>(in, out, init);
  return chain(cat("resnet", depth), std::move(net), uniform({batch, 32, 32, 3}, -1, 1, 1));
}

inline Subject densenet(int64_t batch, nn::Initializer& init) {
  auto net = std::make_unique<Chain>();
  net->then<ConvNormRelu>(3, 32, init);
  int64_t channels = 32;
  for (int i = 0; i < 24; ++i, channels += 12) net->then<Dense>(channels, 12, init);
  return chain("densely connected", std::move(net), uniform({batch, 32, 32, 3}, -1, 1, 1));
}

inline Subject unet(int64_t batch, nn::Initializer& init) {
  auto net = std::make_unique<UNet>(4, 16, init);
  UNet* const levels = net.get();
  return {"u-net", std::move(net), [=](size_t group) { levels->checkpointed = group > 0; }, 0,
          uniform({batch, 64, 64, 3}, -1, 1, 1)};
}

}  // namespace plimsoll::bench
