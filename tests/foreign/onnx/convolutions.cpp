// Convolutions. Images come as [N, C, ..], filters as [O, C / groups, ..], those of transposed
// convolutions as [C, O / groups, ..]. Depth, which the engine has no axis for, is a part of the
// batch meanwhile, one place of the filter after the other.
#include "tests/foreign/onnx/windows.h"

namespace plimsoll::onnx {
namespace {

Windows without_depth(Windows v) {
  for (auto* list : {&v.image, &v.kernel, &v.stride, &v.dilation, &v.before, &v.after})
    list->erase(list->begin());
  return v;
}

// [N, D, H, W, C] -> [N D, H, W, C]; the filter's slice k along its depth.
Tensor flat(const Tensor& x) {
  return reshape(x, {x.size(0) * x.size(1), x.size(2), x.size(3), x.size(4)});
}
Tensor filter_slice(const Tensor& w, int64_t k) { return flat(slice(w, 1, k, k + 1)); }
Tensor deep(const Tensor& y, int64_t batch) {
  return reshape(y, {batch, y.size(0) / batch, y.size(1), y.size(2), y.size(3)});
}

Tensor conv2(const Tensor& x, const Tensor& w, const Windows& v, int64_t groups) {
  return conv2d(x, w,
                {.stride = v.pair(v.stride),
                 .padding = v.padding(),
                 .dilation = v.pair(v.dilation),
                 .groups = groups});
}

// The images that place k of the filter meets, convolved with its slice k; the sum of them.
Tensor conv3(const Tensor& x, const Tensor& w, const Windows& v, int64_t groups) {
  const Tensor whole = pad(x, {{0, 0}, {v.before[0], v.after[0]}, {0, 0}, {0, 0}, {0, 0}});
  Tensor y;
  for (int64_t k = 0; k < w.size(1); ++k) {
    const int64_t first = k * v.dilation[0], last = first + (v.results(0) - 1) * v.stride[0];
    const Tensor met = slice(whole, 1, first, last + 1, v.stride[0]);
    const Tensor part = conv2(flat(met), filter_slice(w, k), without_depth(v), groups);
    y = y.defined() ? y + part : part;
  }
  return deep(y, x.size(0));
}

std::vector<Tensor> conv(const OpCall& c) {
  const int64_t groups = c.node.integer("group", 1);
  const Tensor x = channels_last(c[0]), w = channels_last(c[1]);
  const Windows v = windows(c, x.shape(), c.node.integers("kernel_shape", spatial(w)), 1);
  check<Unsupported>(v.axes() <= 3, "convolution over ", v.axes(), " axes");
  Tensor y;
  if (v.axes() == 1)
    y = conv1d(x, w,
               {.stride = v.stride[0],
                .padding = {v.before[0], v.after[0]},
                .dilation = v.dilation[0],
                .groups = groups});
  else
    y = v.axes() == 2 ? conv2(x, w, v, groups) : conv3(x, w, v, groups);
  return {channels_first(c.has(2) ? y + c[2] : y)};
}

// What a transposed convolution has beside its windows: places added behind.
using Behind = std::vector<int64_t>;

Tensor spread2(const Tensor& x, const Tensor& w, const Windows& v, const Behind& behind,
               int64_t groups) {
  return conv_transpose2d(x, w,
                          {.stride = v.pair(v.stride),
                           .padding = v.padding(),
                           .output_padding = v.pair(behind),
                           .dilation = v.pair(v.dilation),
                           .groups = groups});
}

// Each image, spread by the filter's slice k, goes to depth d stride + k dilation: stride - 1 empty
// images after each, and as many before all and after all as the other slices need.
Tensor spread3(const Tensor& x, const Tensor& w, const Windows& v, const Behind& behind,
               int64_t groups) {
  const int64_t stride = v.stride[0], depth = x.size(1);
  Tensor y;
  for (int64_t k = 0; k < w.size(1); ++k) {
    const Tensor part =
        deep(spread2(flat(x), filter_slice(w, k), without_depth(v), {behind[1], behind[2]}, groups),
             x.size(0));
    const Shape s = part.shape();
    Tensor apart = reshape(part, {s[0], depth, 1, s[2], s[3], s[4]});
    apart = pad(apart, {{0, 0}, {0, 0}, {0, stride - 1}, {0, 0}, {0, 0}, {0, 0}});
    apart = slice(reshape(apart, {s[0], depth * stride, s[2], s[3], s[4]}), 1, 0,
                  (depth - 1) * stride + 1);
    const int64_t after = (w.size(1) - 1 - k) * v.dilation[0] + behind[0];
    apart = pad(apart, {{0, 0}, {k * v.dilation[0], after}, {0, 0}, {0, 0}, {0, 0}});
    y = y.defined() ? y + apart : apart;
  }
  return slice(y, 1, v.before[0], y.size(1) - v.after[0]);
}

// auto_pad and output_shape name the size of the result; what it lacks is added behind.
void fit_padding(const OpCall& c, Windows& v, Behind& behind) {
  const std::string how = c.node.text("auto_pad", "NOTSET");
  std::vector<int64_t> wanted = c.node.integers("output_shape", {});
  for (size_t i = 0; how.starts_with("SAME") && !c.node.has("output_shape") && i < v.axes(); ++i)
    wanted.push_back(v.image[i] * v.stride[i]);
  if (wanted.empty()) return;
  check<ValueError>(wanted.size() >= v.axes(),
                    "ConvTranspose: the result has too few sizes. Give one for each axis.");
  wanted.erase(wanted.begin(), wanted.end() - static_cast<int64_t>(v.axes()));  // N and C may lead
  for (size_t i = 0; i < v.axes(); ++i) {
    const int64_t full = (v.image[i] - 1) * v.stride[i] + v.reach(i) + behind[i];
    const int64_t surplus = full - wanted[i];
    behind[i] += std::max<int64_t>(-surplus, 0);
    const int64_t taken = std::max<int64_t>(surplus, 0);
    v.before[i] = how == "SAME_UPPER" ? taken / 2 : taken - taken / 2;
    v.after[i] = taken - v.before[i];
  }
}

std::vector<Tensor> transposed(const OpCall& c) {
  const int64_t groups = c.node.integer("group", 1);
  const Tensor x = channels_last(c[0]), w = channels_last(c[1]);
  Windows v = windows(c, x.shape(), c.node.integers("kernel_shape", spatial(w)), 1);
  Behind behind = c.node.integers("output_padding", Behind(v.axes(), 0));
  check<ValueError>(behind.size() == v.axes(),
                    "ConvTranspose: output_padding has too few sizes. Give one for each axis.");
  fit_padding(c, v, behind);
  check<Unsupported>(v.axes() <= 3, "transposed convolution over ", v.axes(), " axes");
  Tensor y;
  if (v.axes() == 1)
    y = conv_transpose1d(x, w,
                         {.stride = v.stride[0],
                          .padding = {v.before[0], v.after[0]},
                          .output_padding = behind[0],
                          .dilation = v.dilation[0],
                          .groups = groups});
  else
    y = v.axes() == 2 ? spread2(x, w, v, behind, groups) : spread3(x, w, v, behind, groups);
  return {channels_first(c.has(2) ? y + c[2] : y)};
}

}  // namespace

Ops convolution_ops() { return {{"Conv", conv}, {"ConvTranspose", transposed}}; }

}  // namespace plimsoll::onnx
