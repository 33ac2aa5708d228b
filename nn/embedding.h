// Vectors for tokens and for their places in a sequence.
//
//   nn::Embedding tokens(65, 128, init);
//   nn::LearnedPositions positions(256, 128, init);
//   Tensor x = positions(tokens(ids));                 // i64 [B, T] -> [B, T, 128]
//
// Errors: ValueError for sizes below 1; ShapeError for an x of another width or a sequence longer
// than the positions; IndexError for ids outside the table.
#pragma once

#include "nn/module.h"

namespace plimsoll::nn {

// Row ids[...] of a trained table [V, D], from N(0, 1). Parameter: weight.
class Embedding : public Module {
 public:
  Embedding(int64_t vocabulary, int64_t width, Initializer& init);
  Tensor forward(const Tensor& ids, const Mode& mode) const override;

  const Tensor& weight() const { return weight_; }  // an output layer may share it

 private:
  Tensor weight_;
};

// y[b, t] = x[b, t] + table[t], with a trained table [L, D] from N(0, 0.02^2) as in GPT-2; with a
// cache in the mode, where x goes on: + table[positions[t]]. Parameter: table.
class LearnedPositions : public Module {
 public:
  LearnedPositions(int64_t length, int64_t width, Initializer& init);
  Tensor forward(const Tensor& x, const Mode& mode) const override;

 private:
  Tensor table_;
};

// The same with sinusoidal_positions(). Buffer: table.
class SinusoidalPositions : public Module {
 public:
  SinusoidalPositions(int64_t length, int64_t width, const Initializer& init);
  Tensor forward(const Tensor& x, const Mode& mode) const override;

 private:
  Tensor table_;
};

// [L, D]: table[t, 2i] = sin(t / 10000^(2i / D)), table[t, 2i + 1] = cos(t / 10000^(2i / D)),
// worked out in f64 (Vaswani et al., "Attention Is All You Need", 2017).
Tensor sinusoidal_positions(int64_t length, int64_t width, Placement placement = {});

}  // namespace plimsoll::nn
