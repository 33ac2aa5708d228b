// Muon: momentum of matrices, made orthogonal. Every direction that gradients have taken moves as
// far as any other.
//
//   optim::Muon matrices(hidden, {.learning_rate = 2e-3});       // of layers between
//   optim::AdamW rest(others, {.learning_rate = 2e-3});          // embeddings, gains, biases
//   optim::ParameterGroups groups({{"matrices", matrices}, {"rest", rest}}, all);
#pragma once

#include "optim/optimizer.h"

namespace plimsoll::optim {

// By how much the step of a matrix [A, B] is longer than the orthogonal one.
enum class MuonScale {
  original,    // sqrt(max(1, A / B)): Jordan's
  like_adamw,  // 0.2 sqrt(max(A, B)): about as long as AdamW's, whose learning rates then fit
};

struct MuonOptions {
  double learning_rate = 1e-3;
  double momentum = 0.95;
  bool nesterov = true;
  double weight_decay = 0.1;  // decoupled: param *= 1 - learning_rate * weight_decay
  MuonScale scale = MuonScale::original;
};

// A matrix of G's shape that has G's singular vectors and singular values near 1, between 0.7 and
// 1.2 or so: five steps of Newton and Schulz with the coefficients of Jordan, of G over its norm.
// In G's type. ShapeError unless it is a matrix.
Tensor orthogonalised(const Tensor& g);

// m = momentum m + (1 - momentum) g;  u = orthogonalised(nesterov ? momentum m + (1 - momentum) g :
// m);  param -= lr (scale u + weight_decay param). State: "momentum". Errors: ShapeError for a
// parameter that is no matrix, ValueError for a momentum outside [0, 1) and a negative decay.
// Sources: Jordan et al., "Muon", 2024; for like_adamw Liu et al., "Muon is Scalable for LLM
// Training", 2025. As torch.optim.Muon, which computes u in bf16.
class Muon : public Optimizer {
 public:
  explicit Muon(std::vector<Tensor> parameters, const MuonOptions& options = {});
};

}  // namespace plimsoll::optim
