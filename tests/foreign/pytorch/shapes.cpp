// Elements that keep their values: cut, joined, moved, repeated, padded, picked, resized. What the
// manifest does not say of them is mostly said by the shape of the result.
#include <algorithm>
#include <numeric>

#include "tests/foreign/pytorch/pytorch.h"

namespace plimsoll::golden {
namespace {

constexpr auto kX = "x|input|self|a";
constexpr auto kIds = "i|idx|index|indices|ids";
constexpr auto kSource = "s|src|source|v|value";

// The parts are as large as the results; without the axis, as those of unbind.
Results cut(Case& c) {
  const Tensor x = c[kX];
  c.known("sizes|split_size|split_size_or_sections|split_sizes|sections|chunks|n|num_chunks");
  const int axis = normal_axis("split", c.axis(x.rank()), x.rank());
  Integers sizes;
  for (size_t i = 0; i < c.results(); ++i)
    sizes.push_back(c.result(i).rank() == x.rank() ? c.result(i).size(axis) : 1);
  Results parts = split(x, axis, sizes);
  for (size_t i = 0; i < c.results(); ++i) parts[i] = reshape(parts[i], c.result(i).shape());
  return parts;
}

Results joined(Case& c, Tensor (*f)(std::span<const Tensor>, int64_t)) {
  const std::vector<Tensor> parts = c.floating_inputs();
  return one(f(parts, c.axis(c.result().rank())));
}

// torch.nn.functional.pad: a pair for the last axis first. Negative amounts take away.
Results padded(Case& c) {
  Tensor x = c[kX];
  PadAmounts amounts(static_cast<size_t>(x.rank()));
  if (c.has("pad|padding|pads")) {
    const Integers list = c.integers("pad|padding|pads", {});
    for (size_t i = 0; i + 1 < list.size(); i += 2)
      amounts.at(amounts.size() - 1 - i / 2) = {list[i], list[i + 1]};
  } else {
    for (int axis = 0; axis < x.rank(); ++axis) {
      const int64_t more = c.result().size(axis) - x.size(axis);
      Integers before{more / 2};
      for (int64_t i = 0; i <= more; ++i) before.push_back(i);
      const int64_t first = c.any(before);
      amounts[static_cast<size_t>(axis)] = {first, more - first};
    }
  }
  for (int axis = 0; axis < x.rank(); ++axis) {
    auto& [before, after] = amounts[static_cast<size_t>(axis)];
    x = slice(x, axis, std::max<int64_t>(-before, 0), x.size(axis) - std::max<int64_t>(-after, 0));
    before = std::max<int64_t>(before, 0);
    after = std::max<int64_t>(after, 0);
  }
  const PadMode mode =
      onnx::pad_mode(c.text("mode", {"constant", "reflect", "replicate", "circular"}));
  return one(pad(x, amounts, mode, c.number("value", {0, 1, -1, 0.5})));
}

Results repeated(Case& c) {
  const Tensor x = c[kX];
  c.known("repeats|reps|dims|sizes");  // the shapes say it
  Shape repeats;
  for (int i = 0; i < c.result().rank(); ++i) {
    const int own = i - (c.result().rank() - x.rank());
    repeats.push_back(own < 0 ? c.result().size(i)
                              : c.result().size(i) / std::max<int64_t>(x.size(own), 1));
  }
  return one(tile(x, repeats));
}

// Each element next to its copies.
Results repeated_each(Case& c) {
  Tensor x = c[kX];
  const Tensor y = c.result();
  if (!c.has("dim") && y.rank() == 1 && x.rank() != 1) x = reshape(x, {-1});
  const int axis = normal_axis("repeat_interleave", c.axis(x.rank()), x.rank());
  const int64_t times = c.integer("repeats|n", {y.size(axis) / std::max<int64_t>(x.size(axis), 1)});
  Shape apart, copies, merged;
  for (int i = 0; i < x.rank(); ++i) {
    apart.push_back(x.size(i));
    copies.push_back(x.size(i));
    merged.push_back(x.size(i) * (i == axis ? times : 1));
    if (i != axis) continue;
    apart.push_back(1);
    copies.push_back(times);
  }
  return one(reshape(expand(reshape(x, apart), copies), merged));
}

// Two axes that change places, or all of them in another order.
Results permuted(Case& c) {
  const Tensor x = c[kX];
  Integers order(static_cast<size_t>(x.rank()));
  std::iota(order.begin(), order.end(), 0);
  const std::string given = "dims|perm|order|axes";
  if (c.has("dim0|axis0") && c.has("dim1|axis1"))
    return one(transpose(x, c.integer("dim0|axis0", {}), c.integer("dim1|axis1", {})));
  std::vector<Integers> all;
  while (!c.has(given) && x.rank() <= 4 && std::next_permutation(order.begin(), order.end()))
    all.push_back(order);
  return one(permute(x, shape_of(c.integers(given, all))));
}

Results reshaped(Case& c) {
  c.known("shape|size|sizes|start_dim|end_dim|dim|dims");  // the result has it
  return one(reshape(c[kX], c.result().shape()));
}

Results expanded(Case& c) {
  c.known("shape|size|sizes");
  return one(expand(c[kX], c.result().shape()));
}

// Slices of one axis after the other: from where, and how far apart.
Results sliced(Case& c) {
  Tensor x = c[kX];
  if (c.has("start|dim|length|end|stop|step")) {
    const int64_t axis = c.axis(x.rank()),
                  n = x.size(static_cast<int>(normal_axis("slice", axis, x.rank())));
    const int64_t from = c.integer("start", {0}), start = from < 0 ? from + n : from;
    const int64_t stop =
        c.has("length") ? start + c.integer("length", {}) : c.integer("end|stop", {n});
    return one(
        slice(x, axis, start, std::min(stop < 0 ? stop + n : stop, n), c.integer("step", {1})));
  }
  check<Unsupported>(c.result().rank() == x.rank(), "axes that are gone");
  for (int axis = 0; axis < x.rank(); ++axis) {
    const int64_t n = x.size(axis), m = c.result().size(axis);
    if (n == m || m == 0) continue;
    Integers steps, starts;
    for (int64_t step = 1; (m - 1) * step < n && step <= 4; ++step) steps.push_back(step);
    const int64_t step = c.any(steps);
    for (int64_t start = 0; start + (m - 1) * step < n; ++start) starts.push_back(start);
    const int64_t start = c.any(starts);
    x = slice(x, axis, start, start + (m - 1) * step + 1, step);
  }
  return one(x);
}

// One element of an axis, which goes.
Results selected(Case& c) {
  const Tensor x = c[kX];
  const int axis = normal_axis("select", c.axis(x.rank()), x.rank());
  Integers all(static_cast<size_t>(x.size(axis)));
  std::iota(all.begin(), all.end(), 0);
  int64_t at = c.integer("index|i", all);
  if (at < 0) at += x.size(axis);
  return one(reshape(slice(x, axis, at, at + 1), c.result().shape()));
}

Results flipped(Case& c) {
  const Tensor x = c[kX];
  return one(flip(x, c.axes(x.rank())));
}

Results rolled(Case& c) {
  const Tensor x = c[kX];
  const Integers shifts = c.integers(
      "shifts|shift", {{1}, {-1}, {2}, {-2}, {3}, {1, 1}, {1, -1}, {1, 2}, {2, 1}, {-1, 2}});
  std::vector<Integers> candidates;
  for (int i = 0; i < x.rank(); ++i) {
    if (shifts.size() == 1) candidates.push_back({i});
    for (int j = 0; j < x.rank() && shifts.size() == 2; ++j)
      if (i != j) candidates.push_back({i, j});
  }
  candidates.push_back({});  // all elements in a row
  const Integers dims = c.integers("dims|dim|axes", candidates);
  if (!dims.empty()) return one(roll(x, shape_of(shifts), shape_of(dims)));
  return one(reshape(roll(reshape(x, {-1}), shape_of(shifts), {0}), x.shape()));
}

Results triangle(Case& c, Tensor (*f)(const Tensor&, int64_t)) {
  return one(f(c[kX], c.integer("diagonal|k", {0, 1, -1, 2, -2})));
}

// ---- Elements that integers name

// Rows of padding_idx get no gradient.
Results looked_up(Case& c) {
  Tensor table = c["w|weight|x|table"];
  const Tensor ids = c["i|idx|index|indices|ids|input|t"];
  const int64_t rows = table.size(0), none = rows;
  int64_t padding = c.integer("padding_idx", {none, 0, 1, 2, rows - 1});
  if (padding < 0) padding += rows;
  if (padding != none) {
    const Tensor is_padding = reshape(
        one_hot(full({1}, static_cast<double>(padding), {.dtype = DType::i64}), rows), {rows, 1});
    table = where(gt(is_padding, 0), table.detach(), table);
  }
  return one(embedding(table, ids));
}

Results picked(Case& c) {
  const Tensor x = c[kX];
  return one(gather(x, c.axis(x.rank()), c[kIds]));
}

Results picked_rows(Case& c) {
  const Tensor x = c[kX];
  return one(index_select(x, c.axis(x.rank()), c[kIds]));
}

Results added_at(Case& c) {
  const Tensor x = c[kX];
  return one(scatter_add(x, c.axis(x.rank()), c[kIds], c[kSource]));
}

// A list of ids along one axis, the same for all others.
Results added_rows(Case& c) {
  const Tensor x = c[kX], source = c[kSource], list = c[kIds];
  const int axis = normal_axis("index_add", c.axis(x.rank()), x.rank());
  const double alpha = c.number("alpha", {1, 2, 0.5});
  Shape line;
  for (int i = 0; i < x.rank(); ++i) line.push_back(i == axis ? list.count() : 1);
  const Tensor ids = contiguous(expand(reshape(list, line), source.shape()));
  return one(scatter_add(x, axis, ids, source * alpha));
}

Results hot(Case& c) {
  c.known("num_classes|classes");
  return one(cast(one_hot(c["x|t|i|idx|input|index|labels"], c.result().size(-1)), DType::i64));
}

// ---- Images of another size

Results resized(Case& c, const std::vector<std::string>& modes) {
  const Tensor x = channels_last(c[kX]);
  check<Unsupported>(x.rank() == 4, "interpolation over ", x.rank() - 2, " axes");
  const std::string mode = c.text("mode", modes);
  check<Unsupported>(mode == "nearest" || mode == "bilinear", "mode = ", mode);
  InterpolateAttrs attrs{.mode =
                             mode == "nearest" ? Interpolation::nearest : Interpolation::bilinear};
  if (mode == "bilinear") attrs.align_corners = c.flag("align_corners", false);
  c.known("align_corners|recompute_scale_factor");
  if (c.has("scale_factor|scale")) {
    attrs.scale = c.scale("scale_factor|scale");
  } else {
    c.known("size|output_size");
    attrs.size = {c.result().size(2), c.result().size(3)};
  }
  return one(channels_first(interpolate(x, attrs)));
}

// [N, C r r, H, W] -> [N, C, H r, W r], and back.
Results shuffled(Case& c) {
  const Tensor x = c[kX];
  const Shape to = c.result().shape();
  const int64_t r = c.integer("upscale_factor|r|factor", {to[2] / x.size(2)});
  const Tensor apart =
      permute(reshape(x, {x.size(0), to[1], r, r, x.size(2), x.size(3)}), {0, 1, 4, 2, 5, 3});
  return one(reshape(apart, to));
}

Results unshuffled(Case& c) {
  const Tensor x = c[kX];
  const Shape to = c.result().shape();
  const int64_t r = c.integer("downscale_factor|r|factor", {x.size(2) / to[2]});
  return one(reshape(
      permute(reshape(x, {x.size(0), x.size(1), to[2], r, to[3], r}), {0, 1, 3, 5, 2, 4}), to));
}

}  // namespace

Table shape_table() {
  const Run resized_either_way = [](Case& c) { return resized(c, {"nearest", "bilinear"}); };
  return {
      {"split", cut},
      {"chunk", cut},
      {"unbind", cut},
      {"concat", [](Case& c) { return joined(c, concat); }},
      {"cat", [](Case& c) { return joined(c, concat); }},
      {"stack", [](Case& c) { return joined(c, stack); }},
      {"pad", padded},
      {"tile", repeated},
      {"repeat", repeated},
      {"repeat_interleave", repeated_each},
      {"permute", permuted},
      {"transpose", permuted},
      {"swapaxes", permuted},
      {"reshape", reshaped},
      {"view", reshaped},
      {"flatten", reshaped},
      {"unflatten", reshaped},
      {"squeeze", reshaped},
      {"unsqueeze", reshaped},
      {"expand", expanded},
      {"broadcast_to", expanded},
      {"slice", sliced},
      {"narrow", sliced},
      {"select", selected},
      {"flip", flipped},
      {"roll", rolled},
      {"tril", [](Case& c) { return triangle(c, tril); }},
      {"triu", [](Case& c) { return triangle(c, triu); }},
      {"embedding", looked_up},
      {"gather", picked},
      {"take_along_dim", picked},
      {"index_select", picked_rows},
      {"scatter_add", added_at},
      {"index_add", added_rows},
      {"one_hot", hot},
      {"interpolate", resized_either_way},
      {"resize", resized_either_way},
      {"upsample", resized_either_way},
      {"upsample_nearest", [](Case& c) { return resized(c, {"nearest"}); }},
      {"upsample_bilinear", [](Case& c) { return resized(c, {"bilinear"}); }},
      {"interpolate_nearest", [](Case& c) { return resized(c, {"nearest"}); }},
      {"interpolate_bilinear", [](Case& c) { return resized(c, {"bilinear"}); }},
      {"pixel_shuffle", shuffled},
      {"pixel_unshuffle", unshuffled},
  };
}

}  // namespace plimsoll::golden
