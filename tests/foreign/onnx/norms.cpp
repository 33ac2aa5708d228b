// Normalisation and softmax.
#include "tests/foreign/onnx/windows.h"

namespace plimsoll::onnx {
namespace {

// Gains, shifts and statistics stay in f32 beside 16-bit values.
DType wide(DType dtype) { return dtype == DType::f64 ? DType::f64 : DType::f32; }

// Share `momentum` of the running values is kept, and the variance is the population's: what
// PyTorch has the other way round.
std::vector<Tensor> batch(const OpCall& c) {
  const Tensor x = channels_last(c[0]);
  const double eps = c.node.real("epsilon", 1e-5), kept = c.node.real("momentum", 0.9);
  const auto channel = [&](size_t i) { return cast(c[i], wide(x.dtype())); };
  if (!c.node.flag("training_mode"))
    return {channels_first(
        batch_norm_inference(x, channel(1), channel(2), channel(3), channel(4), eps))};
  const BatchNormResult result = batch_norm(x, channel(1), channel(2), eps);
  const auto running = [&](size_t i, const Tensor& now) {
    return cast(channel(i) * kept + now * (1 - kept), c[i].dtype());
  };
  return {channels_first(result.y), running(3, result.mean), running(4, result.variance)};
}

// Sizes of x before and from `axis`, and those with all from `axis` as 1.
struct Normalised {
  int64_t outer = 1, inner = 1;
  Shape inner_shape, kept;
};
Normalised normalised(const OpCall& c) {
  const Tensor x = c[0];
  Normalised n;
  const int axis = normal_axis("normalise", c.node.integer("axis", -1), x.rank());
  for (int i = 0; i < x.rank(); ++i) {
    (i < axis ? n.outer : n.inner) *= x.size(i);
    if (i >= axis) n.inner_shape.push_back(x.size(i));
    n.kept.push_back(i < axis ? x.size(i) : 1);
  }
  return n;
}

// Over all axes from `axis`, as rows of one.
std::vector<Tensor> layer(const OpCall& c) {
  const double eps = c.node.real("epsilon", 1e-5);
  check<Unsupported>(c.node.integer("stash_type", 1) == 1, "statistics in another type than f32");
  const Normalised n = normalised(c);
  const Tensor x = reshape(c[0], {n.outer, n.inner});
  const DType dtype = wide(x.dtype());
  const auto row = [&](size_t i) {
    return c.has(i) ? reshape(expand(cast(c[i], dtype), n.inner_shape), {n.inner})
                    : zeros({n.inner}, {.dtype = dtype});
  };
  const Tensor y = layer_norm(x, row(1), row(2), eps);
  const Tensor wide_x = cast(x, dtype), centre = mean(wide_x, {1}, Keep::ones);
  const Tensor spread = mean(square(wide_x - centre), {1}, Keep::ones);
  return {reshape(y, c[0].shape()), reshape(centre, n.kept), reshape(rsqrt(spread + eps), n.kept)};
}

std::vector<Tensor> root_mean_square(const OpCall& c) {
  check<Unsupported>(c.node.integer("stash_type", 1) == 1, "the root in another type than f32");
  const Normalised n = normalised(c);
  const Tensor x = reshape(c[0], {n.outer, n.inner});
  const Tensor gain = reshape(expand(cast(c[1], wide(x.dtype())), n.inner_shape), {n.inner});
  return {reshape(rms_norm(x, gain, c.node.real("epsilon", 1e-5)), c[0].shape())};
}

// Gains and shifts were one for each group up to version 20, and are one for each channel since.
std::vector<Tensor> group(const OpCall& c) {
  check<Unsupported>(c.node.integer("stash_type", 1) == 1, "statistics in another type than f32");
  const Tensor x = channels_last(c[0]);
  const int64_t groups = c.node.integer("num_groups", 1), channels = x.size(-1);
  check<ValueError>(groups > 0, "GroupNormalization: groups are ", groups, ". Use 1 or more.");
  const auto each = [&](size_t i) {
    const Tensor v = cast(c[i], wide(x.dtype()));
    if (v.size(0) == channels) return v;
    return reshape(expand(reshape(v, {groups, 1}), {groups, channels / groups}), {channels});
  };
  return {channels_first(group_norm(x, groups, each(1), each(2), c.node.real("epsilon", 1e-5)))};
}

std::vector<Tensor> instance(const OpCall& c) {
  const Tensor x = channels_last(c[0]);
  const DType dtype = wide(x.dtype());
  return {channels_first(
      instance_norm(x, cast(c[1], dtype), cast(c[2], dtype), c.node.real("epsilon", 1e-5)))};
}

// x / |x|_p along an axis; 0 stays.
std::vector<Tensor> unit(const OpCall& c) {
  const auto p = static_cast<double>(c.node.integer("p", 2));
  const Tensor length = norm(c[0], p, {c.node.integer("axis", -1)}, Keep::ones);
  return {masked_fill(c[0] / length, eq(length, 0), 0)};
}

// (x - mean) / deviation over the axes; 1e-9 keeps that from being 0.
std::vector<Tensor> standardised(const OpCall& c) {
  const Tensor x = c[0];
  const Shape axes = shape_of(c.node.integers("axes", {0, 2, 3}));
  const Tensor centre = x - mean(x, axes, Keep::ones);
  return {centre / (sqrt(mean(square(centre), axes, Keep::ones)) + 1e-9)};
}

// x / (bias + alpha / size * the sum of squares over `size` neighbouring channels)^beta
std::vector<Tensor> among_neighbours(const OpCall& c) {
  const Tensor x = c[0];
  const int64_t size = c.node.integer("size", 1), before = (size - 1) / 2;
  PadAmounts around(static_cast<size_t>(x.rank()));
  around.at(1) = {before, size - 1 - before};
  const Tensor squares = pad(square(x), around);
  Tensor total = slice(squares, 1, 0, x.size(1));
  for (int64_t i = 1; i < size; ++i) total = total + slice(squares, 1, i, i + x.size(1));
  const double scale = c.node.real("alpha", 1e-4) / static_cast<double>(size);
  return {x * pow(affine(total, scale, c.node.real("bias", 1)), -c.node.real("beta", 0.75))};
}

// Up to version 12 all axes from `axis` were one row, later `axis` alone is.
template <Tensor (*f)(const Tensor&, int64_t)>
std::vector<Tensor> along(const OpCall& c) {
  const int64_t axis = c.node.integer("axis", c.opset >= 13 ? -1 : 1);
  if (c.opset >= 13) return {f(c[0], axis)};
  int64_t outer = 1;
  for (int i = 0; i < normal_axis("softmax", axis, c[0].rank()); ++i) outer *= c[0].size(i);
  return {reshape(f(reshape(c[0], {outer, c[0].count() / outer}), 1), c[0].shape())};
}

}  // namespace

Ops norm_ops() {
  return {{"BatchNormalization", batch},
          {"LayerNormalization", layer},
          {"RMSNormalization", root_mean_square},
          {"GroupNormalization", group},
          {"InstanceNormalization", instance},
          {"LpNormalization", unit},
          {"MeanVarianceNormalization", standardised},
          {"LRN", among_neighbours},
          {"Softmax", along<softmax>},
          {"LogSoftmax", along<log_softmax>}};
}

}  // namespace plimsoll::onnx
