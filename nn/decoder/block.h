// A layer of a decoder: attention, then a feed-forward network, each behind a norm and added to
// what went in.
#pragma once

#include "nn/attention.h"
#include "nn/decoder/decoder_config.h"
#include "nn/decoder/projection.h"

namespace plimsoll::nn {

// RMS norm, or layer norm where it has a shift. Tensors: weight, perhaps bias, [D].
class DecoderNorm : public Module {
 public:
  DecoderNorm(const Parts& parts, int64_t width, bool shift, double eps);
  Tensor forward(const Tensor& x, const Mode& mode) const override;

 private:
  double eps_;
  Tensor weight_, bias_;
};

// A table of rows. Tensor: weight [rows, D].
class DecoderTable : public Module {
 public:
  DecoderTable(const Parts& parts, int64_t rows, int64_t width);
  Tensor forward(const Tensor& ids, const Mode& mode) const override;
  const Tensor& weight() const { return weight_; }

 private:
  Tensor weight_;
};

class DecoderAttention : public CachedAttention {
 public:
  // `angles`, of rotary positions, outlives it.
  DecoderAttention(const Parts& parts, const DecoderConfig& config, int64_t layer,
                   const RopeTables& angles);
  Tensor forward(const Tensor& x, const Mode& mode) const override;
  CacheRow cache_row() const override;

 private:
  RopeTables angles(int64_t steps, const Mode& mode) const;  // of the positions of x

  const DecoderConfig& config_;
  const RopeTables& angles_;
  Placement placement_;
  AttentionAttrs attrs_;
  const Projection *qkv_ = nullptr, *q_ = nullptr, *k_ = nullptr, *v_ = nullptr, *output_;
  const DecoderNorm *q_norm_ = nullptr, *k_norm_ = nullptr;
};

// contract(activation(gate(x)) expand(x)), or contract(activation(expand(x))) without a gate.
class DecoderMlp : public Module {
 public:
  DecoderMlp(const Parts& parts, const DecoderConfig& config);
  Tensor forward(const Tensor& x, const Mode& mode) const override;

 private:
  DecoderActivation activation_;
  const Projection *gate_ = nullptr, *expand_, *contract_;
};

class DecoderBlock : public Module {
 public:
  // `config` and `angles` outlive it.
  DecoderBlock(const Parts& parts, const DecoderConfig& config, int64_t layer,
               const RopeTables& angles);
  Tensor forward(const Tensor& x, const Mode& mode) const override;

 private:
  const DecoderNorm* norm1_;
  const DecoderAttention* attention_;
  const DecoderNorm* norm2_;
  const DecoderMlp* mlp_;
  const Dropout &dropout1_, &dropout2_;
};

}  // namespace plimsoll::nn
