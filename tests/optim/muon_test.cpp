// Muon beside torch's, and its direction beside what the singular values say.
#include "optim/muon.h"

#include <cmath>
#include <map>

#include "autograd/gradients.h"
#include "core/cpu/threads.h"
#include "formats/npy.h"
#include "memory/step/step.h"
#include "ops/ops.h"
#include "tests/data/testing.h"
#include "tests/support/op_case.h"
#include "tests/support/python.h"

namespace plimsoll {
namespace {

using optim::Muon, optim::MuonOptions, optim::MuonScale, optim::orthogonalised;

constexpr int kSteps = 10;

Tensor drawn(uint64_t key, const Shape& shape) { return normal(shape, 0, 0.1, key); }

// The first `columns` of an orthogonal matrix of so many rows: a reflection.
Tensor orthogonal(uint64_t key, int64_t rows, int64_t columns) {
  const Tensor v = cast(drawn(key, {rows, 1}), DType::f64);
  std::vector<double> unit(static_cast<size_t>(rows * rows));
  for (int64_t i = 0; i < rows; ++i) unit[static_cast<size_t>(i * rows + i)] = 1;
  const Tensor identity = Tensor::of(std::span<const double>(unit), {rows, rows});
  return slice(identity - matmul(v, transpose(v)) * (2 / sum(v * v).item()), 1, 0, columns);
}

// What five steps make of a singular value.
double after_five_steps(double x) {
  for (int step = 0; step < 5; ++step)
    x = 3.4445 * x - 4.7750 * std::pow(x, 3) + 2.0315 * std::pow(x, 5);
  return x;
}

TEST(Muon, DirectionsHaveTheSingularVectorsAndValuesNear1) {
  for (const auto& [rows, columns] : {std::pair{12, 30}, {30, 12}, {16, 16}}) {
    const int64_t rank = std::min(rows, columns);
    const Tensor u = orthogonal(1, rows, rank), v = orthogonal(2, columns, rank);
    std::vector<double> values, expected;
    double norm = 0;
    for (int64_t k = 0; k < rank; ++k) {
      values.push_back(1 / static_cast<double>(k + 1));
      norm += values.back() * values.back();
    }
    norm = std::sqrt(norm);
    for (const double value : values) expected.push_back(after_five_steps(value / (norm + 1e-7)));
    const auto with = [&](const std::vector<double>& singular) {
      return matmul(u * Tensor::of(std::span<const double>(singular), {rank}), transpose(v));
    };
    EXPECT_LE(relative_error(to_array(orthogonalised(with(values))), to_array(with(expected))),
              1e-10);
    for (const double value : expected) EXPECT_NEAR(value, 0.95, 0.3);
  }
}

TEST(Muon, TrajectoriesAreTorchs) {
  NEEDS_PYTHON("numpy, torch.optim._muon");
  const data::TemporaryFolder dir;
  const MuonOptions usual{.learning_rate = 0.02, .momentum = 0.9};
  std::map<std::string, MuonOptions> cases{
      {"wide", usual}, {"tall", usual}, {"plain", usual}, {"like_adamw", usual}};
  cases["plain"].nesterov = false;
  cases["like_adamw"].scale = MuonScale::like_adamw;
  std::vector<NamedTensor> ours;
  for (const auto& [name, options] : cases) {
    const Shape shape = name == "tall" ? Shape{48, 20} : Shape{24, 40};
    ours.push_back({name + ".p", drawn(3, shape)});
    for (uint64_t t = 0; t < kSteps; ++t)
      ours.push_back({cat(name, ".g", t), drawn(4, shape) + drawn(10 + t, shape)});
  }
  formats::write_npz(dir / "ours.npz", ours);
  const python::Outcome outcome = python::run("optim/references/muon.py", {dir.path().string()});
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  std::map<std::string, Tensor> theirs;
  for (const NamedTensor& array : formats::read_npz(dir / "theirs.npz"))
    theirs[array.name] = array.tensor;
  size_t at = 0;
  for (const auto& [name, options] : cases) {
    const Tensor start = ours[at++].tensor, p = clone(start);
    Muon optimizer({p}, options);
    const Tensor first = ours[at].tensor;
    for (int t = 0; t < kSteps; ++t) optimizer.update(std::array{ours[at++].tensor});
    const auto error = [](const Tensor& a, const Tensor& b) {
      return relative_error(to_array(a), to_array(b));
    };
    // torch computes directions in bf16, which has three digits.
    EXPECT_LE(error(orthogonalised(first), theirs.at(name + ".u")), 0.03) << name;
    EXPECT_LE(error(p, theirs.at(name + ".p")), 0.02 * error(start, p)) << name;
  }
}

TEST(Muon, IsTheSameInAStepAndOnAnyNumberOfThreads) {
  const int threads = num_threads();
  std::vector<Tensor> results;
  for (const int n : {1, 2, 3}) {
    set_num_threads(n);
    const Tensor w = drawn(3, {70, 130}).require_grad();
    Muon optimizer({w});
    const auto update = [&](const Tensor& x) {
      const Tensor loss = sum(tanh(matmul(x, w)));
      optimizer.update(gradients(loss, std::array{w}));
      return loss;
    };
    Step step(update);
    for (uint64_t t = 0; t < 3; ++t)
      n == 1 ? update(drawn(20 + t, {9, 70})) : step(drawn(20 + t, {9, 70}));
    results.push_back(w.detach());
  }
  set_num_threads(threads);
  for (const Tensor& other : results) EXPECT_TRUE(same_bits(other, results[0]));
}

TEST(Muon, RefusesWhatIsNoMatrix) {
  expect_error<ShapeError>([] { Muon({ones({3})}); },
                           "muon: parameter 0 is no matrix: [3]. Leave it to AdamW.");
  expect_error<ShapeError>(
      [] {
        orthogonalised(ones({2, 2, 2}));
      },
      "orthogonalised: a matrix is needed: got [2, 2, 2]. Reshape it to "
      "[rows, columns].");
  expect_error<ValueError>(
      [] {
        Muon({ones({3, 3})}, {.momentum = 1});
      },
      "muon: keep is out of range: 1. Use 0 <= keep < 1.");
}

}  // namespace
}  // namespace plimsoll
