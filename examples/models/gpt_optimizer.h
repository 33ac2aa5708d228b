// AdamW as GPT is trained: matrices decay, gains and biases do not.
#pragma once

#include "optim/adam.h"
#include "optim/scheduled_rate.h"

namespace plimsoll::examples {

class GptOptimizer {
 public:
  explicit GptOptimizer(const std::vector<Tensor>& parameters)
      : matrices_(of_rank(parameters, true), {.beta2 = 0.99, .weight_decay = 0.1}),
        vectors_(of_rank(parameters, false), {.beta2 = 0.99, .weight_decay = 0}) {
    for (const Tensor& p : parameters) is_matrix_.push_back(p.rank() >= 2);
  }
  void set_learning_rate(double rate) {
    matrices_.set_learning_rate(rate);
    vectors_.set_learning_rate(rate);
  }
  const Tensor& learning_rate() const { return matrices_.learning_rate(); }
  void set(const optim::ScheduledRate& rate) const {
    rate.set(matrices_);
    rate.set(vectors_);
  }
  const Tensor& steps() const { return matrices_.steps(); }
  int64_t steps_made() const { return matrices_.steps_made(); }
  void update(std::span<const Tensor> grads, const Tensor& skip) {
    std::vector<Tensor> matrices, vectors;
    for (size_t i = 0; i < grads.size(); ++i)
      (is_matrix_[i] ? matrices : vectors).push_back(grads[i]);
    matrices_.update(matrices, skip);
    vectors_.update(vectors, skip);
  }
  std::vector<std::pair<std::string, Tensor>> state() const {
    std::vector<std::pair<std::string, Tensor>> all;
    for (const auto& [name, tensor] : matrices_.state())
      all.emplace_back("matrices." + name, tensor);
    for (const auto& [name, tensor] : vectors_.state()) all.emplace_back("vectors." + name, tensor);
    return all;
  }

 private:
  static std::vector<Tensor> of_rank(const std::vector<Tensor>& parameters, bool matrices) {
    std::vector<Tensor> result;
    for (const Tensor& p : parameters)
      if ((p.rank() >= 2) == matrices) result.push_back(p);
    return result;
  }
  optim::AdamW matrices_, vectors_;
  std::vector<bool> is_matrix_;
};

}  // namespace plimsoll::examples
