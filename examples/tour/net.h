// The net of the tour, and one training step of it: dense layers of one width with a ReLU between
// them, and ten classes.
//
//   Training training({.layers = 4});
//   Step step(training.function());
//   step.plan(inputs_of(1024)).print();
//
// At a width of 256 a layer's weight takes 256 KiB, and what it makes of a batch of 1024 takes
// 1 MiB: numbers that can be checked in one's head.
#pragma once

#include <algorithm>

#include "autograd/gradients.h"
#include "core/engine/trace.h"
#include "memory/step/step_function.h"
#include "nn/nn.h"
#include "ops/loss/cross_entropy/cross_entropy.h"
#include "ops/random/random/random.h"
#include "optim/adam.h"

namespace plimsoll::tour {

constexpr int64_t kWidth = 256, kClasses = 10;

// A dense layer and what follows it.
class Layer : public nn::Module {
 public:
  Layer(int64_t in, int64_t out, nn::Initializer& init)
      : dense_(add<nn::Linear>("dense", in, out, init)) {}
  Tensor forward(const Tensor& x, const nn::Mode& mode) const override {
    return relu(dense_(x, mode));  // [B, I] -> [B, O]
  }

 private:
  const nn::Linear& dense_;
};

// Layers one after another: what checkpointing keeps the input of, and runs again.
class Piece : public nn::Module {
 public:
  static constexpr int kLayers = 3;

  Piece(int layers, nn::Initializer& init) {
    for (int i = 0; i < layers; ++i)
      layers_.push_back(&add<Layer>(cat("layer", i), kWidth, kWidth, init));
  }
  Tensor forward(const Tensor& x, const nn::Mode& mode) const override {
    Tensor y = x;
    for (const Layer* layer : layers_) y = (*layer)(y, mode);
    return y;
  }

 private:
  std::vector<const Layer*> layers_;
};

struct NetOptions {
  int layers = 4;           // the last one has no ReLU
  bool checkpoint = false;  // at each piece
};

class Net : public nn::Module {
 public:
  explicit Net(const NetOptions& options) : checkpoint_(options.checkpoint) {
    nn::Initializer init{.seed = 1};
    for (int left = options.layers - 1; left > 0; left -= Piece::kLayers)
      pieces_.push_back(
          &add<Piece>(cat("piece", pieces_.size()), std::min(left, Piece::kLayers), init));
    last_ = &add<nn::Linear>("last", kWidth, kClasses, init);
  }

  Tensor forward(const Tensor& x, const nn::Mode& mode) const override {
    Tensor y = x;
    for (const Piece* piece : pieces_)
      y = checkpoint_ ? nn::checkpointed(*piece, y, mode) : (*piece)(y, mode);
    return (*last_)(y, mode);  // [B, 256] -> [B, 10]
  }

 private:
  bool checkpoint_;
  std::vector<const Piece*> pieces_;
  const nn::Linear* last_;
};

// A model, its optimizer, and the function that trains it: forward, backward, update.
struct Training {
  explicit Training(const NetOptions& options) : net(options), optimizer(net.parameters()) {}

  Tensor operator()(const Tensor& x, const Tensor& y) {
    Tensor loss = cross_entropy(net(x, nn::training()), y);
    optimizer.update(gradients(loss, net.parameters()));
    return loss;
  }
  StepFunction function() {
    return step_function([this](const Tensor& x, const Tensor& y) { return (*this)(x, y); });
  }

  Net net;
  optim::Adam optimizer;
};

inline Metas inputs_of(int64_t batch) { return {{{batch, kWidth}}, {{batch}, DType::i64}}; }

struct Batch {
  Tensor x, y;
};

// Numbers that look like data: drawn from a key, labels in turn.
inline Batch make_batch(int64_t batch) {
  const MemoryScope scope(MemoryClass::input);
  std::vector<int64_t> labels(static_cast<size_t>(batch));
  for (size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<int64_t>(i) % kClasses;
  return {normal({batch, kWidth}, 0, 1, /*key=*/7),
          Tensor::of<int64_t>(std::span<const int64_t>(labels), {batch})};
}

inline double kib(int64_t bytes) { return static_cast<double>(bytes) / 1024; }

}  // namespace plimsoll::tour
