// Matrix products, convolutions and pooling. Images and filters come as [N, C, ..] and
// [O, C / groups, ..], those of transposed convolutions as [C, O / groups, ..]; they are permuted
// on the tape, so that their gradients go back the same way. Lines are planes one pixel high.
#include <iterator>
#include <sstream>

#include "tests/foreign/pytorch/pytorch.h"

namespace plimsoll::golden {
namespace {

constexpr auto kX = "x|input|self|a";
constexpr auto kW = "w|weight|k|kernel";
constexpr auto kB = "b|bias";

Results affine_map(Case& c) { return one(linear(c[kX], c["w|weight"], c.optional(kB))); }

Results products(Case& c) {
  return one(onnx::numpy_matmul(c["a|x|input|self|mat1"], c["b|y|w|other|mat2|v|vec"]));
}

Results outer(Case& c) {
  return one(reshape(c["a|x|input|self"], {-1, 1}) * reshape(c["b|y|other|vec2"], {1, -1}));
}

Results added_product(Case& c) {
  const Tensor sum = c["c|x|input|self|m|bias"], a = c["a|mat1|batch1|mat"],
               b = c["b|mat2|batch2|vec"];
  const double beta = c.number("beta", {1, 0.5, 2}), alpha = c.number("alpha", {1, 0.5, 2});
  if (a.rank() == 2 && b.rank() == 2) return one(addmm(sum, a, b, {.beta = beta, .alpha = alpha}));
  return one(sum * beta + onnx::numpy_matmul(a, b) * alpha);
}

// Equations that people write.
std::vector<std::string> equations() {
  std::istringstream all(
      "bqhd,bkhd->bhqk bhqd,bhkd->bhqk bhqk,bkhd->bqhd bhqk,bhkd->bhqd ij,jk->ik bij,bjk->bik "
      "bij,jk->bik ij,kj->ik i,j->ij i,i-> ij,ij-> ij,ij->i bi,bj->bij ij->ji ij->i ij->j ij-> "
      "ii->i ii-> bij,bij->b btd,od->bto bchw,oc->bohw ijk,kl->ijl bn,anm,bm->ba");
  return {std::istream_iterator<std::string>(all), {}};
}

// The operands in the order of their names, but a query comes before its keys.
Results einsum(Case& c) {
  std::vector<Tensor> operands = c.floating_inputs();
  if (c.given("q") && c.given("k")) operands = {c["q"], c["k"]};
  return one(onnx::einsum(c.text("equation|eq|expr", equations()), operands));
}

// ---- Convolutions, over one axis or two

struct Plane {
  bool line = false;
  Tensor operator()(const Tensor& image) const {  // [N, C, (H,) W] -> [N, H, W, C]
    const Tensor x = channels_last(image);
    return line ? reshape(x, {x.size(0), 1, x.size(1), x.size(2)}) : x;
  }
  Tensor back(const Tensor& y) const {
    return channels_first(line ? reshape(y, {y.size(0), y.size(2), y.size(3)}) : y);
  }
  Pair pair(Case& c, const std::string& names, const Integers& candidates, int64_t across) const {
    const Pair p = c.pair(names, candidates);
    return line ? Pair{across, p.w} : p;
  }
};

Plane plane_of(const Tensor& x) {
  check<Unsupported>(x.rank() == 3 || x.rank() == 4, "windows over ", x.rank() - 2, " axes");
  return {x.rank() == 3};
}

// One number, one for each axis, "same" or "valid"; or two for each, in one of two orders.
Padding padding_of(Case& c, const Plane& plane, const Pair& reach, const Integers& candidates) {
  const std::string how = c.has("padding") ? c.text("padding", {}) : "";
  if (how == "valid") return 0;
  if (how == "same") {
    const auto before = [](int64_t n) { return (n - 1) / 2; };
    return {before(reach.h), reach.h - 1 - before(reach.h), before(reach.w),
            reach.w - 1 - before(reach.w)};
  }
  std::vector<Integers> lists;
  for (const int64_t all : candidates) lists.push_back({all});
  const Integers p = c.integers("padding|pad", lists);
  if (p.size() == 4) {
    if (c.any<int>({0, 1}) == 0) return {p[2], p[3], p[0], p[1]};  // as functional.pad: left first
    return {p[0], p[1], p[2], p[3]};
  }
  if (plane.line) return p.size() == 2 ? Padding{0, 0, p[0], p[1]} : Padding{0, 0, p[0], p[0]};
  return {p.front(), p.back()};
}

Pair reach_of(const Pair& window, const Pair& dilation) {
  return {dilation.h * (window.h - 1) + 1, dilation.w * (window.w - 1) + 1};
}

Results convolved(Case& c) {
  const Tensor image = c[kX], filter = c[kW];
  const Plane plane = plane_of(image);
  const Tensor x = plane(image), w = plane(filter);
  const Pair stride = plane.pair(c, "stride|strides", {1, 2, 3}, 1);
  const Pair dilation = plane.pair(c, "dilation|dilations", {1, 2, 3}, 1);
  const Pair reach = reach_of({w.size(1), w.size(2)}, dilation);
  const Padding padding = padding_of(c, plane, reach, {0, 1, 2, 3, 4});
  const int64_t groups = c.integer("groups", {x.size(3) / w.size(3)});
  return one(plane.back(
      conv2d(x, w, c.optional(kB),
             {.stride = stride, .padding = padding, .dilation = dilation, .groups = groups})));
}

Results spread(Case& c) {
  const Tensor image = c[kX];
  const Plane plane = plane_of(image);
  const Tensor x = plane(image), w = plane(c[kW]);
  ConvTranspose2dAttrs attrs;
  attrs.stride = plane.pair(c, "stride|strides", {1, 2, 3}, 1);
  attrs.dilation = plane.pair(c, "dilation|dilations", {1, 2}, 1);
  attrs.output_padding = plane.pair(c, "output_padding", {0, 1, 2}, 0);
  attrs.padding = padding_of(c, plane, 1, {0, 1, 2, 3});
  attrs.groups = c.integer("groups", {c.result().size(1) / w.size(3)});
  const Tensor y = conv_transpose2d(x, w, attrs);
  return one(plane.back(c.given(kB) ? y + c[kB] : y));
}

// A filter for each channel, then one pixel of all channels.
Results separably_convolved(Case& c) {
  const Tensor x = channels_last(c[kX]), depthwise = channels_last(c["dw|w1|depthwise"]);
  const int64_t padding = c.integer("padding", {1, 0, 2}), stride = c.integer("stride", {1, 2});
  const Tensor y = conv2d(x, depthwise, c.optional("db|b1"),
                          {.stride = stride, .padding = padding, .groups = x.size(3)});
  return one(
      channels_first(conv2d(y, channels_last(c["pw|w2|pointwise"]), c.optional("b|pb|b2|bias"))));
}

// ---- Pooling

Pool2dAttrs pool_attrs(Case& c, const Plane& plane) {
  Pool2dAttrs attrs;
  attrs.window = plane.pair(c, "kernel|kernel_size|k|window", {2, 3, 4, 5}, 1);
  attrs.stride = plane.pair(c, "stride|strides", {attrs.window.w, 1, 2, 3}, 1);
  if (!c.has("stride|strides") && attrs.stride.w == attrs.window.w) attrs.stride = attrs.window;
  attrs.dilation = plane.pair(c, "dilation|dilations", {1, 2}, 1);
  attrs.padding = padding_of(c, plane, 1, {0, 1, 2});
  attrs.ceil_mode = c.flag("ceil_mode", false);
  return attrs;
}

Results max_pooled(Case& c) {
  const Tensor x = c[kX];
  const Plane plane = plane_of(x);
  c.known("return_indices");
  return one(plane.back(max_pool2d(plane(x), pool_attrs(c, plane))));
}

// With a divisor of its own: the sum, which is the mean of all places times their number.
Results averaged(Case& c) {
  const Tensor x = c[kX];
  const Plane plane = plane_of(x);
  Pool2dAttrs attrs = pool_attrs(c, plane);
  attrs.count_include_pad = c.flag("count_include_pad", true);
  const Tensor y = avg_pool2d(plane(x), attrs);
  if (!c.has("divisor_override")) return one(plane.back(y));
  check<Unsupported>(!attrs.ceil_mode && attrs.count_include_pad,
                     "a divisor of one's own beside others");
  return one(plane.back(y * (static_cast<double>(attrs.window.h * attrs.window.w) /
                             c.number("divisor_override", {}))));
}

// As many windows as the result has pixels.
template <Tensor (*f)(const Tensor&, Pair)>
Results adaptive(Case& c) {
  const Tensor x = c[kX];
  const Plane plane = plane_of(x);
  c.known("output_size|size|out");
  const Shape to = c.result().shape();
  const bool whole = to.rank() < x.rank() || c.result().count() == x.size(0) * x.size(1);
  const Pair size = whole ? Pair{1} : Pair{plane.line ? 1 : to[2], to.back()};
  return one(reshape(plane.back(f(plane(x), size)), to));
}

}  // namespace

Table product_table() {
  Table table{
      {"linear", affine_map},
      {"matmul", products},
      {"mm", products},
      {"bmm", products},
      {"mv", products},
      {"dot", products},
      {"outer", outer},
      {"addmm", added_product},
      {"baddbmm", added_product},
      {"addmv", added_product},
      {"einsum", einsum},
      {"separable_conv", separably_convolved},
      {"separable_conv2d", separably_convolved},
      {"depthwise_separable", separably_convolved},
      {"depthwise_separable_conv2d", separably_convolved},
      {"max_pool", max_pooled},
      {"avg_pool", averaged},
      {"adaptive_avg_pool", adaptive<adaptive_avg_pool2d>},
      {"adaptive_max_pool", adaptive<adaptive_max_pool2d>},
      {"global_avg_pool", adaptive<adaptive_avg_pool2d>},
      {"global_max_pool", adaptive<adaptive_max_pool2d>},
      {"conv", convolved},
      {"conv_transpose", spread},
      {"transposed_conv", spread},
      {"deconv", spread},
      {"conv2d_transpose", spread},
      {"conv1d_transpose", spread},
      {"adaptive_avg", adaptive<adaptive_avg_pool2d>},
      {"adaptive_max", adaptive<adaptive_max_pool2d>},
  };
  const Table any_axes = table;
  for (const auto& [name, run] : any_axes)
    if (name.ends_with("conv") || name.ends_with("pool") || name.ends_with("transpose"))
      for (const char* axes : {"1d", "2d", "3d"}) table[name + axes] = run;
  return table;
}

}  // namespace plimsoll::golden
