// Packed: a decoder over rows that hold several sequences (data/text/packing.h), in one tensor: for
// loops that hand a model one.
//
//   nn::Packed model(published::load(folder, init, options));
//   Tensor output = model(x, nn::training(key));       // i64 [B, 3, T] -> as of ids [B, T]
//
// x[:, 0] are the tokens, x[:, 1] which sequence of its row each lies in, x[:, 2] its place there.
// Child: model.
#pragma once

#include "nn/decoder/decoder.h"

namespace plimsoll::nn {

class Packed : public Module {
 public:
  explicit Packed(std::unique_ptr<Decoder> decoder);
  // ShapeError for x of another shape.
  Tensor forward(const Tensor& x, const Mode& mode) const override;

  const Decoder& decoder() const { return decoder_; }

 private:
  const Decoder& decoder_;
};

}  // namespace plimsoll::nn
