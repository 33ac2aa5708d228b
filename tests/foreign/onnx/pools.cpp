// Pooling. Windows over a line or a plane are the engine's; over more axes, or where the place of
// the maximum is asked for, they are folded place by place.
#include <limits>
#include <numeric>

#include "tests/foreign/onnx/windows.h"

namespace plimsoll::onnx {
namespace {

// `value` around an image [N, .., C], also where the last windows hang over its end.
Tensor surrounded(const Tensor& x, const Windows& v, double value) {
  PadAmounts amounts(static_cast<size_t>(x.rank()));
  for (size_t i = 0; i < v.axes(); ++i)
    amounts[i + 1] = {v.before[i], v.after[i] + v.hangs_over(i)};
  return pad(x, amounts, PadMode::constant, value);
}

// Calls f with the pixels at one place of all windows, for each place in turn, row by row.
template <class F>
void for_each_place(const Windows& v, F f) {
  std::vector<int64_t> at(v.axes());
  const int64_t places =
      std::accumulate(v.kernel.begin(), v.kernel.end(), int64_t{1}, std::multiplies<>());
  for (int64_t place = 0; place < places; ++place) {
    int64_t rest = place;
    for (size_t i = v.axes(); i-- > 0; rest /= v.kernel[i]) at[i] = rest % v.kernel[i];
    f([&](Tensor image) {
      for (size_t i = 0; i < v.axes(); ++i) {
        const int64_t first = at[i] * v.dilation[i];
        const int64_t last = first + (v.results(i) - 1) * v.stride[i];
        image = slice(image, static_cast<int64_t>(i) + 1, first, last + 1, v.stride[i]);
      }
      return image;
    });
  }
}

Tensor fold(const Tensor& image, const Windows& v, Tensor (*f)(const Tensor&, const Tensor&)) {
  Tensor y;
  for_each_place(v, [&](auto met) { y = y.defined() ? f(y, met(image)) : met(image); });
  return y;
}

// A line is a plane one pixel high.
bool is_plane(const Windows& v) { return v.axes() <= 2; }

template <class F>
Tensor over_plane(const Tensor& x, Windows v, bool count_include_pad, F f) {
  const bool line = v.axes() == 1;
  if (line)
    for (auto* list : {&v.kernel, &v.stride, &v.dilation, &v.before, &v.after})
      list->insert(list->begin(), list == &v.before || list == &v.after ? 0 : 1);
  const Tensor y = f(line ? reshape(x, {x.size(0), 1, x.size(1), x.size(2)}) : x,
                     Pool2dAttrs{.window = v.pair(v.kernel),
                                 .stride = v.pair(v.stride),
                                 .padding = v.padding(),
                                 .dilation = v.pair(v.dilation),
                                 .ceil_mode = v.ceil,
                                 .count_include_pad = count_include_pad});
  return line ? reshape(y, {y.size(0), y.size(2), y.size(3)}) : y;
}

// The number of each pixel of x [N, C, ..] in row-major order, or with the last axis slowest.
Tensor numbers(const Tensor& x, bool columns_first) {
  std::vector<int64_t> all(static_cast<size_t>(x.count()));
  std::iota(all.begin(), all.end(), 0);
  Shape shape = x.shape(), order{0, 1};
  for (int i = 2; i < x.rank(); ++i) {
    const int from = columns_first ? x.rank() + 1 - i : i;
    order.push_back(from);
    shape[i] = x.size(from);
  }
  return permute(Tensor::of(std::span<const int64_t>(all), shape), order);
}

std::vector<Tensor> max_places(const OpCall& c, const Windows& v, bool columns_first) {
  const Tensor x = surrounded(channels_last(c[0]), v, -std::numeric_limits<double>::infinity());
  const Tensor places = surrounded(channels_last(numbers(c[0], columns_first)), v, 0);
  Tensor best, at;
  for_each_place(v, [&](auto met) {
    const Tensor value = met(x), place = met(places);
    const Tensor more = best.defined() ? gt(value, best) : Tensor();
    best = best.defined() ? where(more, value, best) : value;
    at = at.defined() ? where(more, place, at) : place;
  });
  return {channels_first(best), channels_first(at)};
}

std::vector<Tensor> max_pool(const OpCall& c) {
  const Tensor x = channels_last(c[0]);
  const Windows v = windows(c, x.shape(), c.node.integers("kernel_shape", {}), 1);
  const bool columns_first = c.node.flag("storage_order");
  if (c.node.outputs.size() > 1) return max_places(c, v, columns_first);
  return {channels_first(in_floating(x, [&](const Tensor& image) {
    if (is_plane(v)) return over_plane(image, v, true, max_pool2d);
    return fold(surrounded(image, v, -std::numeric_limits<double>::infinity()), v, maximum);
  }))};
}

// The mean of the pixels that count: with count_include_pad those of the padding do, as zeros; what
// a window has beyond that never does.
std::vector<Tensor> average_pool(const OpCall& c) {
  const Tensor x = channels_last(c[0]);
  const Windows v = windows(c, x.shape(), c.node.integers("kernel_shape", {}), 1);
  const bool count_include_pad = c.node.flag("count_include_pad");
  if (is_plane(v)) return {channels_first(over_plane(x, v, count_include_pad, avg_pool2d))};
  Windows beyond = v;  // its image is the padded one: only what hangs over is around it
  for (size_t i = 0; i < v.axes(); ++i) {
    beyond.image[i] += v.before[i] + v.after[i];
    beyond.before[i] = beyond.after[i] = 0;
  }
  const Placement same{x.dtype(), Device::cpu};
  Shape counted{1}, image{1};
  for (size_t i = 0; i < v.axes(); ++i) {
    counted.push_back(beyond.image[i]);
    image.push_back(v.image[i]);
  }
  counted.push_back(1);
  image.push_back(1);
  const Tensor weight = count_include_pad ? surrounded(ones(counted, same), beyond, 0)
                                          : surrounded(ones(image, same), v, 0);
  return {channels_first(fold(surrounded(x, v, 0), v, add) / fold(weight, v, add))};
}

// (sum |x|^p)^(1/p)
std::vector<Tensor> norm_pool(const OpCall& c) {
  const Tensor x = channels_last(c[0]);
  const Windows v = windows(c, x.shape(), c.node.integers("kernel_shape", {}), 1);
  const auto p = static_cast<double>(c.node.integer("p", 2));
  return {channels_first(pow(fold(pow(abs(surrounded(x, v, 0)), p), v, add), 1 / p))};
}

Shape pixels(const Tensor& x) {
  Shape axes;
  for (int i = 2; i < x.rank(); ++i) axes.push_back(i);
  return axes;
}

std::vector<Tensor> global_average(const OpCall& c) {
  if (c[0].rank() != 4) return {mean(c[0], pixels(c[0]), Keep::ones)};
  return {reshape(global_avg_pool(channels_last(c[0])), {c[0].size(0), c[0].size(1), 1, 1})};
}

}  // namespace

Ops pool_ops() {
  return {
      {"MaxPool", max_pool},
      {"AveragePool", average_pool},
      {"LpPool", norm_pool},
      {"GlobalAveragePool", global_average},
      {"GlobalMaxPool", [](auto& c) { return std::vector{amax(c[0], pixels(c[0]), Keep::ones)}; }}};
}

}  // namespace plimsoll::onnx
