// Decoder: a language model of GPT-2's or Llama's family, its weights frozen or trained, perhaps
// with adapters (nn/decoder/lora.h).
//
//   nn::Initializer init{.seed = 1};
//   const nn::Decoder model(config, nn::drawn_weights(init), init, {.trained = true});
//   Tensor logits = model(ids, mode);                  // i64 [B, T] -> [B, T, V]
//
// Where a sequence goes on from a cache, the logits are those of its last token alone, [B, 1, V].
// Tensors are named as in the published files below their prefix (published_name()). Source:
// Radford et al., "Language Models are Unsupervised Multitask Learners", 2019; Touvron et al.,
// "Llama 2", arXiv 2307.09288; Jiang et al., "Mistral 7B", arXiv 2310.06825.
#pragma once

#include <optional>

#include "nn/attention.h"
#include "nn/decoder/decoder_config.h"
#include "nn/decoder/projection.h"

namespace plimsoll::nn {

struct DecoderOptions {
  bool trained = false;    // all weights are parameters; false: they are frozen, as they come
  bool converted = false;  // frozen ones become the activations' type
  // Matrices of the layers in fewer bits, each as soon as it was read; the table, the output layer,
  // norms and biases stay, as in QLoRA.
  std::optional<Quantisation> quantised = {};
  int64_t context = 0;      // positions there are angles for; 0: all of the model's
  bool checkpoint = false;  // of a layer only its input is kept for the backward pass
  // false: forward() ends with the last norm, [B, T, D], for loss(), unless the output layer has an
  // adapter: the logits, the largest tensor there is, then never exist as a whole.
  bool logits = true;
  std::optional<LoraOptions> lora = {};
};

class DecoderBlock;

class Decoder : public Module {
 public:
  // Activations and adapters have the placement of `init`, from which adapters and the sites of
  // dropout are drawn. ValueError: as check_config(); a context beyond the model's; weights of
  // other shapes; targets of adapters that match nothing; weights that are trained in fewer bits.
  // NumericError for a weight in fewer bits that is not finite.
  Decoder(const DecoderConfig& config, const WeightSource& weights, Initializer& init,
          const DecoderOptions& options = {});
  Tensor forward(const Tensor& ids, const Mode& mode) const override;

  // The mean cross entropy of labels i64 [B, T] under what forward() gave; -100 counts nowhere.
  Tensor loss(const Tensor& output, const Tensor& labels) const;

  // Of all that belongs to it, as a pool would count them: also what lies in files.
  int64_t bytes() const;
  const DecoderConfig& config() const { return config_; }
  int64_t context() const { return context_; }
  const Tensor& tokens() const { return tokens_; }  // [V, D]
  const Tensor& head() const;                       // [V, D]

 private:
  void check_targets(const LoraOptions& lora) const;
  Tensor with_positions(const Tensor& x, const Mode& mode) const;

  DecoderConfig config_;
  DecoderOptions options_;
  int64_t context_;
  DType dtype_;
  RopeTables angles_;  // of all layers
  Tensor tokens_, positions_;
  const Dropout* dropout_;
  std::vector<const DecoderBlock*> blocks_;
  const Module* norm_;
  const Projection* head_ = nullptr;  // nullptr: the token table
};

}  // namespace plimsoll::nn
