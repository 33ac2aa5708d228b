// Normalisation, and losses.
#include <algorithm>

#include "tests/foreign/pytorch/pytorch.h"

namespace plimsoll::golden {
namespace {

constexpr auto kX = "x|input|self|a";
constexpr auto kW = "w|weight|gamma|g";
constexpr auto kB = "b|bias|beta";
constexpr auto kTarget = "t|y|target|labels|b";

double eps_of(Case& c, double usual) {
  return c.number("eps|epsilon", {usual, 1e-5, 1e-6, 1e-8, 1e-3, 1e-12, 0});
}

// In training, unless the case brings running statistics and says otherwise.
Results batch(Case& c) {
  const Tensor x = channels_last(c[kX]);
  const Tensor gamma = c.gain(kW, x.size(-1), 1), beta = c.gain(kB, x.size(-1), 0);
  const char *mean = "running_mean|rm|mean|m", *variance = "running_var|rv|var|v";
  const bool training = c.flag("training|train", !c.given(mean));
  const double eps = eps_of(c, 1e-5);
  c.known("momentum");
  if (training) return one(channels_first(batch_norm(x, gamma, beta, eps).y));
  return one(channels_first(batch_norm_inference(x, gamma, beta, c.gain(mean, x.size(-1), 0),
                                                 c.gain(variance, x.size(-1), 1), eps)));
}

// Over the last axes, as many as the gain has, as rows of one.
struct Rows {
  Tensor x;
  int64_t width = 1;
};
Rows rows_of(Case& c) {
  Rows rows{c[kX]};
  Integers all(static_cast<size_t>(rows.x.rank()));
  const size_t axes = c.given(kW) ? static_cast<size_t>(c[kW].rank())
                                  : c.integers("normalized_shape", {{0}, {0, 0}, {0, 0, 0}}).size();
  c.known("normalized_shape");
  for (size_t i = 0; i < axes; ++i) rows.width *= rows.x.size(-1 - static_cast<int>(i));
  rows.x = reshape(rows.x, {-1, rows.width});
  return rows;
}

Results layer(Case& c) {
  const auto [x, width] = rows_of(c);
  const Tensor gamma = reshape(c.gain(kW, width, 1), {width}),
               beta = reshape(c.gain(kB, width, 0), {width});
  return one(reshape(layer_norm(x, gamma, beta, eps_of(c, 1e-5)), c.result().shape()));
}

// PyTorch's own default is the smallest step of the type; 1e-6 is what most people write.
Results root_mean_square(Case& c) {
  const auto [x, width] = rows_of(c);
  const Tensor gamma = reshape(c.gain(kW, width, 1), {width});
  return one(reshape(rms_norm(x, gamma, c.number("eps|epsilon", {1e-6, 0x1p-52, 1e-5, 1e-8, 0})),
                     c.result().shape()));
}

Results group(Case& c) {
  const Tensor x = channels_last(c[kX]);
  const int64_t channels = x.size(-1);
  Integers divisors;
  for (int64_t n = 1; n <= channels; ++n)
    if (channels % n == 0) divisors.push_back(n);
  const int64_t groups = c.integer("num_groups|groups|G", divisors);
  return one(channels_first(
      group_norm(x, groups, c.gain(kW, channels, 1), c.gain(kB, channels, 0), eps_of(c, 1e-5))));
}

Results instance(Case& c) {
  const Tensor x = channels_last(c[kX]);
  return one(channels_first(
      instance_norm(x, c.gain(kW, x.size(-1), 1), c.gain(kB, x.size(-1), 0), eps_of(c, 1e-5))));
}

// ---- Losses. Classes come second in PyTorch and last here.

Tensor classes_last(const Tensor& x) { return x.rank() > 2 ? channels_last(x) : x; }

constexpr auto kClassWeight = "w|weight|cw|class_weight";

// Every class where none is named: the labels that the case has, and what stands for none.
Integers ignorable(const Tensor& labels) {
  Integers all{-100};
  for (const int64_t label : labels.to_vector<int64_t>())
    if (std::find(all.begin(), all.end(), label) == all.end()) all.push_back(label);
  return all;
}

// Labels that are probabilities: the sum of -w t log p over the classes; the mean is over the rows.
Tensor soft_cross_entropy(Case& c, const Tensor& x, const Tensor& target) {
  const double e = c.number("label_smoothing|smoothing", {0, 0.1, 0.2, 0.3});
  const auto classes = static_cast<double>(x.size(-1));
  const Tensor t = e == 0 ? target : target * (1 - e) + e / classes;
  Tensor each = -(t * log_softmax(x));
  if (c.given(kClassWeight)) each = each * c[kClassWeight];
  const Tensor rows = sum(each, {-1});
  const Reduction how = c.reduction();
  return reduce(rows, how);
}

Results cross_entropies(Case& c) {
  const Tensor x = c[kX], target = c[kTarget];
  if (is_floating(target.dtype()))
    return one(soft_cross_entropy(c, classes_last(x), classes_last(target)));
  CrossEntropyOptions options;
  options.weight = c.optional(kClassWeight);
  options.ignore_index = c.integer("ignore_index|ignore", ignorable(target));
  options.label_smoothing = c.number("label_smoothing|smoothing|eps", {0, 0.1, 0.2, 0.3});
  options.reduction = c.reduction();
  return one(cross_entropy(x.rank() == 1 ? x : classes_last(x), target, options));
}

Results likelihood(Case& c) {
  const Tensor x = c[kX], target = c[kTarget];
  NllOptions options;
  options.weight = c.optional(kClassWeight);
  options.ignore_index = c.integer("ignore_index|ignore", ignorable(target));
  options.reduction = c.reduction();
  return one(nll_loss(x.rank() == 1 ? x : classes_last(x), target, options));
}

// Of two tensors; targets that broadcast are expanded.
template <class F>
Run difference(F f) {
  return [f](Case& c) {
    const Tensor x = c[kX], target = c[kTarget];
    return one(f(c, x, target.shape() == x.shape() ? target : expand(target, x.shape())));
  };
}

Results bce_of_logits(Case& c) {
  BceOptions options;
  options.weight = c.optional("w|weight");
  options.pos_weight = c.optional("pw|pos_weight|p");
  options.reduction = c.reduction();
  return one(bce_with_logits(c[kX], c[kTarget], options));
}

Results bce_of_probabilities(Case& c) {
  const Tensor x = c[kX], t = c[kTarget];
  Tensor each = -(t * log(x) + (1 - t) * log(1 - x));
  if (c.given("w|weight")) each = each * c["w|weight"];
  return one(reduce(each, c.reduction()));
}

Results divergence(Case& c) {
  const Tensor x = c[kX];
  KlDivOptions options{.log_target = c.flag("log_target", false)};
  const std::string how = c.text("reduction", {"mean", "batchmean", "sum", "none"});
  check<Unsupported>(how == "mean" || how == "batchmean" || how == "sum" || how == "none",
                     "reduction = ", how);
  options.reduction = how == "mean"   ? Reduction::mean
                      : how == "none" ? Reduction::none
                                      : Reduction::sum;
  const Tensor loss = kl_div(x, c[kTarget], options);
  return one(how == "batchmean" ? loss / static_cast<double>(x.size(0)) : loss);
}

}  // namespace

Table norm_and_loss_table() {
  using T = const Tensor&;
  const Run mse = difference([](Case& c, T x, T t) { return mse_loss(x, t, c.reduction()); });
  const Run l1 = difference([](Case& c, T x, T t) { return l1_loss(x, t, c.reduction()); });
  const Run smooth = difference([](Case& c, T x, T t) {
    const double beta = c.number("beta", {1, 0.5, 2, 0.1, 0});
    return smooth_l1_loss(x, t, beta, c.reduction());
  });
  const Run huber = difference([](Case& c, T x, T t) {
    const double delta = c.number("delta", {1, 0.5, 2, 1.5, 0.1});
    return huber_loss(x, t, delta, c.reduction());
  });
  return {
      {"batch_norm", batch},
      {"batch_norm1d", batch},
      {"batch_norm2d", batch},
      {"batch_norm3d", batch},
      {"layer_norm", layer},
      {"rms_norm", root_mean_square},
      {"group_norm", group},
      {"instance_norm", instance},
      {"instance_norm1d", instance},
      {"instance_norm2d", instance},
      {"cross_entropy", cross_entropies},
      {"cross_entropy_loss", cross_entropies},
      {"ce", cross_entropies},
      {"softmax_cross_entropy", cross_entropies},
      {"nll", likelihood},
      {"nll_loss", likelihood},
      {"mse", mse},
      {"mse_loss", mse},
      {"l1", l1},
      {"l1_loss", l1},
      {"mae", l1},
      {"smooth_l1", smooth},
      {"smooth_l1_loss", smooth},
      {"huber", huber},
      {"huber_loss", huber},
      {"bce_logits", bce_of_logits},
      {"bce_with_logits", bce_of_logits},
      {"binary_cross_entropy_with_logits", bce_of_logits},
      {"bce", bce_of_probabilities},
      {"binary_cross_entropy", bce_of_probabilities},
      {"kl_div", divergence},
      {"kl", divergence},
      {"kldiv_loss", divergence},
  };
}

}  // namespace plimsoll::golden
