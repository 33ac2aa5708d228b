// Optimizers and clipping, in f64: a trajectory of 20 steps of a small network, and gradients
// before and after clipping.
#include <algorithm>
#include <limits>
#include <sstream>

#include "autograd/gradients.h"
#include "optim/adam.h"
#include "optim/clip.h"
#include "optim/rmsprop.h"
#include "optim/sgd.h"
#include "tests/foreign/pytorch/pytorch.h"
#include "tests/support/op_case.h"

namespace plimsoll::golden {
namespace {

using optim::Optimizer;
using Words = std::set<std::string>;  // of the case's name: "traj_sgd_mom_wd"

// Asks for an optimizer's options. What the manifest does not say is searched among usual values:
// all of them where the case's name has a word for it, else only whether it is there.
struct Options {
  Attributes& attrs;
  const Words& words;

  double rate() const {
    return attrs.number("lr|learning_rate",
                        {0.01, 0.05, 0.1, 0.001, 0.002, 0.005, 0.02, 0.2, 0.5, 1});
  }
  double number(const std::string& names, const Words& hints, double usual,
                std::vector<double> others) const {
    const bool hinted =
        std::any_of(hints.begin(), hints.end(), [&](auto& w) { return words.contains(w); });
    if (!hinted) return attrs.number(names, {usual, others.front()});
    others.push_back(usual);
    return attrs.number(names, others);
  }
  bool flag(const std::string& names, bool hinted) const {
    return attrs.has(names) ? attrs.flag(names, false) : hinted;
  }
  double decay() const {
    return number("weight_decay|wd", {"wd", "decay", "l2"}, 0, {0.01, 0.1, 1e-3, 1e-4, 0.05, 5e-4});
  }
  double momentum() const {
    return number("momentum", {"mom", "momentum", "nesterov", "damp", "dampening"}, 0,
                  {0.9, 0.5, 0.8, 0.95, 0.99});
  }
  double eps(double usual) const { return attrs.number("eps|epsilon", {usual}); }
  std::pair<double, double> betas() const {
    const std::vector<double> both = attrs.numbers("betas", {{0.9, 0.999}});
    return {attrs.number("beta1", {both.front()}), attrs.number("beta2", {both.back()})};
  }
  // Unsupported when an option is asked for that the engine does not have.
  void refuse(const std::string& name, const char* hint) const {
    const bool asked = attrs.has(name) ? attrs.number(name, {}) != 0 : words.contains(hint);
    check<Unsupported>(!asked, "attribute ", name);
  }
};

using Parameters = std::vector<Tensor>;
using MakeOptimizer = std::function<Optimizer(Parameters, const Options&)>;

Optimizer sgd(Parameters w, const Options& o) {
  const double damping = o.number("dampening|damping", {"damp", "dampening"}, 0, {0.5, 0.1, 0.9});
  return optim::SGD(std::move(w), {.learning_rate = o.rate(),
                                   .momentum = o.momentum(),
                                   .damping = damping,
                                   .nesterov = o.flag("nesterov", o.words.contains("nesterov")),
                                   .weight_decay = o.decay()});
}

Optimizer adam(Parameters w, const Options& o) {
  const auto [beta1, beta2] = o.betas();
  return optim::Adam(std::move(w), {.learning_rate = o.rate(),
                                    .beta1 = beta1,
                                    .beta2 = beta2,
                                    .eps = o.eps(1e-8),
                                    .weight_decay = o.decay(),
                                    .amsgrad = o.flag("amsgrad", o.words.contains("amsgrad"))});
}

Optimizer adamw(Parameters w, const Options& o) {
  const auto [beta1, beta2] = o.betas();
  return optim::AdamW(
      std::move(w), {.learning_rate = o.rate(),
                     .beta1 = beta1,
                     .beta2 = beta2,
                     .eps = o.eps(1e-8),
                     .weight_decay = o.attrs.number("weight_decay|wd", {0.01, 0.1, 0.05, 1e-3, 0}),
                     .amsgrad = o.flag("amsgrad", o.words.contains("amsgrad"))});
}

Optimizer adamax(Parameters w, const Options& o) {
  const auto [beta1, beta2] = o.betas();
  return optim::Adamax(std::move(w), {.learning_rate = o.rate(),
                                      .beta1 = beta1,
                                      .beta2 = beta2,
                                      .eps = o.eps(1e-8),
                                      .weight_decay = o.decay()});
}

Optimizer nadam(Parameters w, const Options& o) {
  const auto [beta1, beta2] = o.betas();
  o.refuse("decoupled_weight_decay", "decoupled");
  return optim::NAdam(std::move(w), {.learning_rate = o.rate(),
                                     .beta1 = beta1,
                                     .beta2 = beta2,
                                     .eps = o.eps(1e-8),
                                     .momentum_decay = o.attrs.number("momentum_decay", {4e-3}),
                                     .weight_decay = o.decay()});
}

Optimizer radam(Parameters w, const Options& o) {
  const auto [beta1, beta2] = o.betas();
  o.refuse("decoupled_weight_decay", "decoupled");
  return optim::RAdam(std::move(w), {.learning_rate = o.rate(),
                                     .beta1 = beta1,
                                     .beta2 = beta2,
                                     .eps = o.eps(1e-8),
                                     .weight_decay = o.decay()});
}

Optimizer rmsprop(Parameters w, const Options& o) {
  const bool centred = o.words.contains("centered") || o.words.contains("centred");
  return optim::RMSprop(std::move(w), {.learning_rate = o.rate(),
                                       .alpha = o.attrs.number("alpha", {0.99, 0.9}),
                                       .eps = o.eps(1e-8),
                                       .momentum = o.momentum(),
                                       .centred = o.flag("centered|centred", centred),
                                       .weight_decay = o.decay()});
}

Optimizer adagrad(Parameters w, const Options& o) {
  o.refuse("initial_accumulator_value", "init");
  return optim::Adagrad(
      std::move(w), {.learning_rate = o.rate(),
                     .lr_decay = o.number("lr_decay", {"lrd", "decay"}, 0, {0.01, 0.1, 0, 0.001}),
                     .eps = o.eps(1e-10),
                     .weight_decay = o.decay()});
}

const std::map<std::string, MakeOptimizer> kOptimizers{
    {"sgd", sgd},     {"adam", adam},   {"adamw", adamw},     {"adamax", adamax},
    {"nadam", nadam}, {"radam", radam}, {"rmsprop", rmsprop}, {"adagrad", adagrad}};

// The network of the trajectories: convolution (1 -> 4, 3x3), batch norm, relu, 2x2 maxima, linear.
const std::vector<std::string> kNames{"0.weight", "0.bias",   "1.weight",
                                      "1.bias",   "5.weight", "5.bias"};

Tensor loss_of(const std::vector<Tensor>& w, const Tensor& x, const Tensor& labels) {
  Tensor y = conv2d(x, w[0], {.padding = 1}) + w[1];  // [N, 8, 8, 4]
  y = max_pool2d(relu(batch_norm(y, w[2], w[3]).y));  // [N, 4, 4, 4]
  y = reshape(permute(y, {0, 3, 1, 2}), {-1, 64});    // the file counts channels first
  return cross_entropy(linear(y, w[4], w[5]), labels);
}

// Two kinds of noise that PyTorch's numbers have in f64 too. The bias in front of batch norm has no
// effect: its gradient is rounding noise around zero, which Adam divides by its own size + 1e-8
// (1.1e-8 measured after 20 steps), Adagrad by that + 1e-10 (4e-7). NAdam keeps the product of mu
// in f32 (2e-8).
struct Limits {
  double all = 1e-12, bias = 1e-7;
};
Limits limits_of(const std::string& optimizer) {
  if (optimizer == "nadam") return {1e-6, 1e-6};
  return optimizer == "adagrad" ? Limits{1e-12, 1e-5} : Limits{};
}

double off(const Tensor& actual, const Tensor& expected) {
  if (actual.count() != expected.count()) return std::numeric_limits<double>::infinity();
  const auto row = [](const Tensor& x) { return to_array(contiguous(reshape(x.detach(), {-1}))); };
  return relative_error(row(actual), row(expected));
}

// "" or what is wrong first.
std::string follow(const Tensors& file, const MakeOptimizer& make, const Options& options,
                   const Limits& limits) {
  std::vector<Tensor> w;
  for (const std::string& name : kNames) {
    Tensor p = clone(file.at("p0." + name));
    if (name == "0.weight") p = reshape(p, {4, 3, 3, 1});  // one channel: the same order
    w.push_back(p.require_grad());
  }
  Optimizer optimizer = make(w, options);
  const bool maximize = options.flag("maximize", options.words.contains("maximize"));
  const std::vector<double> losses = file.at("losses").to_vector<double>();
  for (int64_t step = 0; step < static_cast<int64_t>(losses.size()); ++step) {
    const auto batch = [&](const char* name) { return slice(file.at(name), 0, step, step + 1); };
    const Tensor loss = loss_of(w, reshape(batch("X"), {6, 8, 8, 1}), reshape(batch("Y"), {6}));
    const double expected = losses[static_cast<size_t>(step)];
    if (!(std::abs(loss.item() - expected) <= limits.all * std::abs(expected)))
      return cat("the loss of step ", step, " is ", loss.item(), " instead of ", expected);
    std::vector<Tensor> grads = gradients(loss, w);
    if (maximize)
      for (Tensor& grad : grads) grad = -grad;
    optimizer.update(grads);
    for (size_t k = 0; k < kNames.size(); ++k) {
      const auto found = file.find(cat("p", step + 1, ".", kNames[k]));
      if (found == file.end()) continue;
      const double error = off(w[k], found->second);
      if (!(error <= (kNames[k] == "0.bias" ? limits.bias : limits.all)))
        return cat(kNames[k], " is off by ", error, " after step ", step);
    }
  }
  return "";
}

}  // namespace

std::string run_trajectory(const std::filesystem::path& folder, const Json& manifest,
                           const Json& entry) {
  const std::string name = entry.at("name");
  Words words;
  std::istringstream parts(name);
  for (std::string word; std::getline(parts, word, '_');) words.insert(word);
  const auto make = std::find_if(kOptimizers.begin(), kOptimizers.end(),
                                 [&](auto& o) { return words.contains(o.first); });
  check<Unsupported>(make != kOptimizers.end(), "no such optimizer");
  const Tensors file = foreign::read_safetensors(folder / (name + ".safetensors"));
  Choices choices;
  Read read;
  const Json attributes = entry.value("attrs", Json::object());
  Attributes attrs(attributes, choices, read);
  std::string first;
  do {
    std::string wrong;
    try {
      wrong = follow(file, make->second, {attrs, words}, limits_of(make->first));
    } catch (const ValueError& error) {  // options that do not go together
      wrong = error.what();
    }
    if (wrong.empty()) return "";
    if (first.empty()) first = wrong;
  } while (choices.next());
  // Its first step is lr (1 + 0.1 mu_2 / (1 - mu_1^2 mu_2)): PyTorch 1.13 multiplied mu_t in twice
  // where the paper and later versions have it once.
  check<Unsupported>(make->first != "nadam" || !manifest.value("torch", "").starts_with("1."),
                     "it has PyTorch 1.13's error in the product of mu");
  for (const auto& [attr, value] : attributes.items())
    check<Unsupported>(attr == "net" || attr == "note" || read.contains(attr), "attribute ", attr);
  // A case that says nothing of its options may have any.
  check<Unsupported>(attributes.contains("lr") || attributes.contains("learning_rate"),
                     "its options are not said, and the usual ones are not it: ", first);
  return first;
}

// Gradients g0, g1, ..; clipped ones c0, c1, ..; the norm of all before that.
std::string run_clipping(const std::filesystem::path& folder, const Json& entry) {
  const std::string name = entry.at("name");
  const Tensors file = foreign::read_safetensors(folder / (name + ".safetensors"));
  const Json attributes = entry.value("attrs", Json::object());
  Choices choices;
  Read read{"note", "formula"};
  Attributes attrs(attributes, choices, read);
  std::vector<Tensor> grads;
  while (file.contains(cat("g", grads.size()))) grads.push_back(file.at(cat("g", grads.size())));
  check<Unsupported>(!grads.empty(), "there are no gradients g0, g1, ..");
  std::vector<Tensor> clipped;
  double error = 0;
  if (name.starts_with("clip_grad_value")) {
    clipped = optim::clip_grad_value(grads, attrs.number("clip_value|max_value", {}));
  } else {
    const double kind = attrs.number("norm_type", {2});
    check<Unsupported>(kind == 2, "attribute norm_type = ", kind);
    const optim::Clipped all = optim::clip_by_global_norm(grads, attrs.number("max_norm", {}));
    clipped = all.grads;
    if (file.contains("total_norm")) error = off(all.norm, file.at("total_norm"));
  }
  size_t expected = 0;
  while (file.contains(cat("c", expected))) ++expected;
  check<Unsupported>(expected == clipped.size(), expected, " clipped gradients of ",
                     clipped.size());
  for (size_t i = 0; i < clipped.size(); ++i)
    error = std::max(error, off(clipped[i], file.at(cat("c", i))));
  if (error <= 1e-12) return "";
  for (const auto& [attr, value] : attributes.items())
    check<Unsupported>(read.contains(attr), "attribute ", attr);
  return cat("off by ", error);
}

}  // namespace plimsoll::golden
