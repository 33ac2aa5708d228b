// Images as ONNX lays them out, and how its convolutions and pools lay windows over them.
//
//   const Tensor x = channels_last(c[0]);                       // [N, C, H, W] -> [N, H, W, C]
//   const Windows v = windows(c, x.shape(), {3, 3}, 1);
//   conv2d(x, w, {.stride = v.pair(v.stride), .padding = v.padding()});
#pragma once

#include <algorithm>

#include "tests/foreign/onnx/cases.h"

namespace plimsoll::onnx {

// [N, C, ..] -> [N, .., C] and back.
inline Tensor channels_last(const Tensor& x) {
  Shape order{0};
  for (int i = 2; i < x.rank(); ++i) order.push_back(i);
  if (x.rank() > 1) order.push_back(1);
  return permute(x, order);
}
inline Tensor channels_first(const Tensor& x) {
  Shape order{0};
  if (x.rank() > 1) order.push_back(x.rank() - 1);
  for (int i = 1; i + 1 < x.rank(); ++i) order.push_back(i);
  return permute(x, order);
}

// Sizes between the first axis and the last.
inline std::vector<int64_t> spatial(const Tensor& x) {
  return {x.shape().begin() + 1, x.shape().end() - 1};
}

struct Windows {
  std::vector<int64_t> image, kernel, stride, dilation, before, after;
  bool ceil = false;

  size_t axes() const { return kernel.size(); }
  int64_t reach(size_t i) const { return dilation[i] * (kernel[i] - 1) + 1; }
  // Windows along an axis. With `ceil` one may hang over the padded image's end, but it starts
  // before the padding behind the image does.
  int64_t results(size_t i) const {
    const int64_t room = image[i] + before[i] + after[i] - reach(i);
    int64_t n = room / stride[i] + 1;
    if (ceil && room % stride[i] != 0 && n * stride[i] < image[i] + before[i]) ++n;
    return n;
  }
  // Places after the padded image that the last window needs, 0 without `ceil`.
  int64_t hangs_over(size_t i) const {
    const int64_t end = (results(i) - 1) * stride[i] + reach(i);
    return std::max<int64_t>(end - image[i] - before[i] - after[i], 0);
  }
  Pair pair(const std::vector<int64_t>& v) const { return {v[0], v[1]}; }
  Padding padding() const { return {before[0], after[0], before[1], after[1]}; }
};

// Attributes of a node over an image [N, .., C].
inline Windows windows(const OpCall& c, const Shape& shape, std::vector<int64_t> kernel,
                       int64_t stride) {
  const size_t n = kernel.size();
  Windows v;
  v.kernel = std::move(kernel);
  v.image.assign(shape.begin() + 1, shape.end() - 1);
  check<ShapeError>(v.image.size() == n, "windows: ", n, " axes over ", shape, ". Give each one.");
  v.stride = c.node.integers("strides", std::vector<int64_t>(n, stride));
  v.dilation = c.node.integers("dilations", std::vector<int64_t>(n, 1));
  v.ceil = c.node.flag("ceil_mode");
  const auto pads = c.node.integers("pads", std::vector<int64_t>(2 * n, 0));
  const auto fits = [n](const std::vector<int64_t>& list, size_t lists, int64_t least) {
    return list.size() == lists * n &&
           std::all_of(list.begin(), list.end(), [=](int64_t size) { return size >= least; });
  };
  check<ValueError>(
      fits(v.kernel, 1, 1) && fits(v.stride, 1, 1) && fits(v.dilation, 1, 1) && fits(pads, 2, 0),
      "windows: sizes for ", n, " axes are missing, or too small. Give each one.");
  v.before.assign(pads.begin(), pads.begin() + static_cast<int64_t>(n));
  v.after.assign(pads.begin() + static_cast<int64_t>(n), pads.end());
  const std::string how = c.node.text("auto_pad", "NOTSET");
  check<Unsupported>(
      how == "NOTSET" || how == "VALID" || how == "SAME_UPPER" || how == "SAME_LOWER",
      "auto_pad = ", how);
  for (size_t i = 0; i < n && how.starts_with("SAME"); ++i) {  // size / stride results, rounded up
    const int64_t results = (v.image[i] + v.stride[i] - 1) / v.stride[i];
    const int64_t missing =
        std::max<int64_t>((results - 1) * v.stride[i] + v.reach(i) - v.image[i], 0);
    v.before[i] = how == "SAME_LOWER" ? missing - missing / 2 : missing / 2;
    v.after[i] = missing - v.before[i];
  }
  return v;
}

}  // namespace plimsoll::onnx
