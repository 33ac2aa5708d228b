// Images of another size, as the engine's interpolate has them: the nearest pixel, and bilinear.
#include <algorithm>
#include <cmath>

#include "tests/foreign/onnx/windows.h"

namespace plimsoll::onnx {
namespace {

// Of the last two axes; the others keep their size.
struct Wanted {
  Pair size = 0;    // either this
  Scale scale = 0;  // or that
};

Wanted wanted(const OpCall& c, size_t scales, size_t sizes) {
  const Tensor x = c[0];
  check<Unsupported>(x.rank() == 4, "images of ", x.rank() - 2, " axes");
  std::vector<int64_t> all{0, 1, 2, 3};
  const std::vector<int64_t> axes = c.node.integers("axes", all);
  const std::string policy = c.node.text("keep_aspect_ratio_policy", "stretch");
  check<Unsupported>(policy == "stretch", "keep_aspect_ratio_policy = ", policy);
  std::array<double, 4> scale{1, 1, 1, 1};
  std::array<int64_t, 4> size{};
  std::copy(x.shape().begin(), x.shape().end(), size.begin());
  const bool by_scale = c.has(scales) && c[scales].count() > 0;
  const auto given = c[by_scale ? scales : sizes].to_vector<double>();
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(normal_axis("Resize", axes[i], x.rank()));
    if (by_scale)
      scale[axis] = given.at(i);
    else
      size[axis] = static_cast<int64_t>(given.at(i));
  }
  check<Unsupported>(scale[0] == 1 && scale[1] == 1 && size[0] == x.size(0) && size[1] == x.size(1),
                     "other axes than the image's");
  if (by_scale) return {0, {scale[2], scale[3]}};
  return {{size[2], size[3]}, 0};
}

// Whether each pixel becomes a whole number of pixels: every rule then means the same one.
bool repeats(const Tensor& x, const Wanted& w) {
  const auto whole = [](double n) { return n >= 1 && n == std::floor(n); };
  if (w.size.h == 0) return whole(w.scale.h) && whole(w.scale.w);
  return w.size.h % x.size(2) == 0 && w.size.w % x.size(3) == 0;
}

std::vector<Tensor> resized(const OpCall& c, size_t scales, size_t sizes) {
  const Wanted w = wanted(c, scales, sizes);
  const std::string mode = c.node.text("mode", "nearest");
  const bool old = c.node.op == "Upsample" || c.opset < 11;  // without a choice of rules
  const std::string places =
      c.node.text("coordinate_transformation_mode", old ? "asymmetric" : "half_pixel");
  const std::string rule = c.node.text("nearest_mode", old ? "floor" : "round_prefer_floor");
  for (const char* name : {"antialias", "exclude_outside"})
    check<Unsupported>(c.node.integer(name, 0) == 0, name);
  c.node.real("cubic_coeff_a", 0);
  c.node.real("extrapolation_value", 0);
  InterpolateAttrs attrs{.size = w.size, .scale = w.scale};
  if (mode == "linear" || mode == "bilinear") {
    attrs.mode = Interpolation::bilinear;
    attrs.align_corners = places == "align_corners";
    check<Unsupported>(!attrs.align_corners || w.size.h > 0 || repeats(c[0], w),
                       "align_corners by a broken scale");
    check<Unsupported>(places == "half_pixel" || places == "align_corners", "bilinear at ", places);
  } else {
    const bool floor = places == "asymmetric" && rule == "floor";
    const bool same =
        repeats(c[0], w) && places == "half_pixel" && rule.starts_with("round_prefer");
    check<Unsupported>(mode == "nearest" && (floor || same), mode, " at ", places, " by ", rule);
  }
  return {channels_first(interpolate(channels_last(c[0]), attrs))};
}

}  // namespace

Ops resize_ops() {
  return {{"Resize",
           [](const OpCall& c) { return c.opset < 11 ? resized(c, 1, 3) : resized(c, 2, 3); }},
          {"Upsample", [](const OpCall& c) { return resized(c, 1, 3); }}};
}

}  // namespace plimsoll::onnx
