// What the modules of a decoder are made from: where weights come from, and in what form they stay.
//
//   const nn::Parts parts{.source = nn::null_weights(DType::bf16), .init = init};
//   nn::Projection up(parts.in("mlp").in("up_proj"), {...});    // asks for "mlp.up_proj.weight"
#pragma once

#include <optional>

#include "nn/decoder/lora.h"
#include "ops/quantise/quantise/quantise.h"

namespace plimsoll::nn {

// Gives the tensor of this shape that a decoder calls `name`, in any floating type. It may lie in a
// file.
using WeightSource = std::function<Tensor(const std::string& name, const Shape& shape)>;

// Shapes without bytes, of this type.
WeightSource null_weights(DType dtype);
// Matrices from N(0, 0.02^2), biases 0 and norms 1, as GPT-2 and Llama begin; `init` outlives it.
WeightSource drawn_weights(Initializer& init);

struct Parts {
  const WeightSource& source;
  Initializer& init;       // its placement is that of activations and adapters
  bool trained = false;    // parameters, in the activations' type; else frozen, as they come
  bool converted = false;  // or in that type too
  std::optional<Quantisation> quantised = {};  // or, of matrices, in fewer bits
  const LoraOptions* lora = nullptr;
  std::string prefix = "";  // of the names in files
  std::string path = "";    // of this part

  Parts in(const std::string& child) const;
  std::string name() const { return prefix + path; }  // of this part, in files

  // A tensor of this part, on the device. Norms and their shifts are f32 beside 16 bits. ValueError
  // for one of another shape.
  Tensor take(const std::string& name, const Shape& shape, bool wide = false) const;
  // A matrix of this shape in fewer bits, as [out, in] also where it comes `transposed`. As a whole
  // it is there no longer than that takes. NumericError for a NaN or an infinity in it.
  Quantised take_quantised(const std::string& name, const Shape& shape, bool transposed) const;
};

}  // namespace plimsoll::nn
