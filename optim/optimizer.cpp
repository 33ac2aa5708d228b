#include "optim/optimizer.h"

#include <limits>

#include "autograd/autocast.h"
#include "autograd/no_grad.h"
#include "core/base/philox.h"
#include "ops/common/update.h"
#include "ops/random/full/full.h"
#include "ops/update/increment/increment.h"

namespace plimsoll::optim {
namespace {

void check_learning_rate(double learning_rate) {
  check<ValueError>(learning_rate >= 0 && learning_rate <= std::numeric_limits<float>::max(),
                    "optimizer: the learning rate must be a number from 0 that f32 has: ",
                    learning_rate, ". Use a small positive number.");
}

bool same_memory(const Tensor& a, const Tensor& b) {
  return a.value().storage == b.value().storage && a.value().offset == b.value().offset;
}

void check_parameters(std::span<const Tensor> parameters) {
  check<ValueError>(!parameters.empty(),
                    "optimizer: there is no parameter: 0 were given. Pass at least one.");
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Tensor& p = parameters[i];
    check<StateError>(p.defined(), "optimizer: parameter ", i,
                      " is undefined. Give it a value first.");
    check<DTypeError>(is_floating(p.dtype()), "optimizer: parameter ", i,
                      " is not of a floating type: ", p.meta(), ". Leave it out.");
    check<StateError>(p.contiguous(), "optimizer: parameter ", i, " is a strided view: ", p.meta(),
                      ". Pass the whole tensor.");
    check<DeviceError>(p.device() == parameters[0].device(), "optimizer: parameter ", i,
                       " is on another device than the first: ", p.meta(),
                       ". Move them to one device.");
    for (size_t k = 0; k < i && p.count() > 0; ++k)
      check<ValueError>(!same_memory(p, parameters[k]), "optimizer: parameter ", i,
                        " is parameter ", k, " again: ", p.meta(), ". Pass it once.");
  }
}

}  // namespace

uint64_t rounding_key(uint64_t seed, size_t parameter) {
  constexpr uint64_t kRoundingStream = 0x726f756e64;
  if (seed == 0) return 0;
  const auto words = random_words(seed, kRoundingStream, parameter);
  return uint64_t{words[0]} << 32 | words[1] | 1;  // never 0
}

Optimizer::Optimizer(std::vector<Tensor> parameters, double learning_rate,
                     std::vector<std::string> slots, Rule rule, Reads reads, SlotMetas metas)
    : slot_names_(std::move(slots)),
      rule_(std::move(rule)),
      reads_(reads),
      metas_(std::move(metas)) {
  check_parameters(parameters);
  check_learning_rate(learning_rate);
  const MemoryScope scope(MemoryClass::optimizer);
  const Device device = parameters[0].device();
  learning_rate_ = full({}, learning_rate, {DType::f64, device});
  steps_ = zeros({}, {DType::i64, device});
  update_instead(std::move(parameters));
}

void Optimizer::update_instead(std::vector<Tensor> parameters) {
  check_parameters(parameters);
  slots_.clear();  // first: old and new ones are never there together
  parameters_ = std::move(parameters);
  const MemoryScope scope(MemoryClass::optimizer);
  for (const Tensor& p : parameters_) {
    slots_.emplace_back();
    const Meta like{p.shape(), compute_dtype(p.dtype()), p.device()};
    for (const Meta& slot : metas_ ? metas_(p.meta()) : Metas(slot_names_.size(), like))
      slots_.back().push_back(zeros(slot.shape, {slot.dtype, slot.device}));
  }
}

void Optimizer::update(std::span<const Tensor> grads, const Tensor& skip) {
  check<ShapeError>(grads.size() == parameters_.size(),
                    "optimizer: the number of gradients is wrong: ", grads.size(), " for ",
                    parameters_.size(), " parameters. Pass one for each, in the same order.");
  for (size_t i = 0; i < grads.size(); ++i) {
    check<StateError>(grads[i].defined(), "optimizer: gradient ", i,
                      " is undefined. Pass zeros for a parameter that stays.");
    check_gradient("optimizer", parameters_[i].meta(), grads[i].meta());
    check<DeviceError>(grads[i].device() == parameters_[i].device(), "optimizer: gradient ", i,
                       " is on another device than its parameter: ", grads[i].meta(),
                       ". Compute it there.");
  }
  const NoGrad scope;
  const Autocast off(Precision::f32);
  increment(steps_, skip);
  for (size_t i = 0; i < grads.size(); ++i)
    rule_({parameters_[i], grads[i], slots_[i], learning_rate_, steps_, skip, i});
}

void Optimizer::set_learning_rate(double learning_rate) {
  check_learning_rate(learning_rate);
  learning_rate_.write(std::span<const double>(&learning_rate, 1));
}

std::vector<std::pair<std::string, Tensor>> Optimizer::state() const {
  std::vector<std::pair<std::string, Tensor>> all{{"learning_rate", learning_rate_},
                                                  {"steps", steps_}};
  for (size_t i = 0; i < slots_.size(); ++i)
    for (size_t k = 0; k < slot_names_.size(); ++k)
      all.emplace_back(cat(slot_names_[k], ".", i), slots_[i][k]);
  return all;
}

}  // namespace plimsoll::optim
