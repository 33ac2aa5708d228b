#include "optim/muon.h"

#include <cmath>

#include "ops/common/expect.h"
#include "ops/matmul/addmm/addmm.h"
#include "ops/matmul/matmul/matmul.h"
#include "ops/pointwise/arithmetic/arithmetic.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/reduction/norm/norm.h"
#include "ops/shape/view/view.h"
#include "ops/update/average_update/average_update.h"
#include "ops/update/sgd_update/sgd_update.h"

namespace plimsoll::optim {
namespace {

constexpr double kA = 3.4445, kB = -4.7750, kC = 2.0315;  // x -> a x + b x^3 + c x^5
constexpr int kIterations = 5;
constexpr double kEps = 1e-7;

double scale_of(const Shape& shape, MuonScale scale) {
  const auto a = static_cast<double>(shape[0]), b = static_cast<double>(shape[1]);
  return scale == MuonScale::original ? std::sqrt(std::max(1.0, a / b))
                                      : 0.2 * std::sqrt(std::max(a, b));
}

Rule muon_rule(const MuonOptions& o) {
  const AverageUpdate average{.keep = o.momentum};
  const SgdUpdate step{.weight_decay = o.weight_decay};
  check_options("muon", average);
  check_options("muon", step);
  return [=](const ParameterUpdate& u) {
    const Tensor& m = u.slots[0];
    const Tensor g = cast(u.grad, m.dtype());
    average_update(m, g, u.steps, u.learning_rate, average, u.skip);
    const Tensor ahead = o.nesterov ? g * (1 - o.momentum) + m * o.momentum : m;
    const Tensor direction = orthogonalised(ahead) * scale_of(m.shape(), o.scale);
    sgd_update(u.param, cast(direction, u.param.dtype()), {}, u.steps, u.learning_rate, step,
               u.skip);
  };
}

std::vector<Tensor> checked(std::vector<Tensor> parameters) {
  for (size_t i = 0; i < parameters.size(); ++i)
    check<ShapeError>(!parameters[i].defined() || parameters[i].rank() == 2, "muon: parameter ", i,
                      " is no matrix: ", parameters[i].shape(), ". Leave it to AdamW.");
  return parameters;
}

}  // namespace

Tensor orthogonalised(const Tensor& g) {
  check_defined("orthogonalised", g);
  check<ShapeError>(g.rank() == 2, "orthogonalised: a matrix is needed: got ", g.shape(),
                    ". Reshape it to [rows, columns].");
  const bool tall = g.size(0) > g.size(1);  // products of the shorter side are the smaller ones
  Tensor x = tall ? contiguous(transpose(g)) : g;
  x = x / (norm(x) + kEps);
  for (int i = 0; i < kIterations; ++i) {
    const Tensor gram = matmul(x, transpose(x));
    x = addmm(x, addmm(gram, gram, gram, {.beta = kB, .alpha = kC}), x, {.beta = kA});
  }
  return tall ? contiguous(transpose(x)) : x;
}

Muon::Muon(std::vector<Tensor> parameters, const MuonOptions& o)
    : Optimizer(checked(std::move(parameters)), o.learning_rate, {"momentum"}, muon_rule(o)) {}

}  // namespace plimsoll::optim
