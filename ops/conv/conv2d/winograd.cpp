#include "ops/conv/conv2d/winograd.h"

#include "core/cpu/slots.h"
#include "ops/conv/conv2d/block.h"
#include "ops/conv/conv2d/winograd_tile.h"

namespace plimsoll::winograd {
namespace {

using V = Vector<float>;
constexpr int64_t kFloats = sizeof(float);
// Transformed pixels and sums of the tiles of one slot, in blocks of sums: at least as many blocks
// as kMinBlocks, for all of which the filters are read from memory once.
constexpr int64_t kSlotBytes = 1 << 19, kMinBlocks = 2, kMaxBlocks = 4;
// Transformed filters, or one panel if that is more. Where all take more, the images are gone
// through once for each so many.
constexpr int64_t kFilterBytes = 8 << 20;
// To transform a filter takes as long as so many products of it.
constexpr int64_t kFilterProducts = 2048;

// The filters, transformed: [place][panel][channel][kBlockColumns<float> outputs].
struct Filters {
  int64_t channels, outputs;
  int64_t panels() const { return pieces(outputs, kBlockColumns<float>); }
  int64_t panel_elements() const { return channels * kBlockColumns<float>; }
  int64_t place_elements() const { return panels() * panel_elements() + kGap; }
  int64_t bytes() const { return block_bytes(kPlaces * place_elements() * kFloats); }
  int64_t width(int64_t panel) const {
    return std::min(kBlockColumns<float>, outputs - panel * kBlockColumns<float>);
  }
};

// One channel of one panel; rows of a narrow panel are as short as they can be.
template <int R, class T>
void transform_panel_row(const DenseConv& conv, const Filters& filters, const T* w, int64_t panel,
                         int64_t channel, float* u) {
  const auto& s = conv.w;
  const int64_t width = filters.width(panel);
  const T* from = w + s.first + panel * kBlockColumns<float> * s.output + channel * s.input;
  u += panel * filters.panel_elements() + channel * width;
  for (int64_t o = 0; o < width; o += kLanes<float>) {
    V g[R][R], value[kPoints][kPoints];
    for (int64_t r = 0; r < R; ++r)
      for (int64_t t = 0; t < R; ++t) {
        const T* tap = from + o * s.output + r * s.row + t * s.col;
        alignas(V) float lanes[kLanes<float>];
        for (int64_t i = 0; i < kLanes<float>; ++i)
          lanes[i] = static_cast<float>(tap[i * s.output]);
        g[r][t] = load<V>(lanes);
      }
    along_both<Evaluate>(g, value);
    divide(value);
    store_places(value, u + o, filters.place_elements());
  }
}

// The outputs that are made at a time: whole panels, as many as kFilterBytes hold.
int64_t outputs_at_a_time(const DenseConv& conv) {
  const int64_t panels = pieces(conv.outputs, kBlockColumns<float>);
  const int64_t fit = kFilterBytes / (kPlaces * conv.inputs * kBlockColumns<float> * kFloats);
  const int64_t times = pieces(panels, std::max<int64_t>(fit, 1));
  return std::min(conv.outputs, pieces(panels, times) * kBlockColumns<float>);
}

// The convolution that makes `n` outputs from output `first` on.
DenseConv with_outputs(DenseConv conv, int64_t first, int64_t n) {
  conv.w.first += first * conv.w.output;
  conv.outputs = n;
  return conv;
}

// The scratch of one thread, for the tiles that it works on at a time and the most outputs.
struct Slot {
  int64_t tiles, channels, outputs;
  explicit Slot(const DenseConv& conv) : channels(conv.inputs), outputs(outputs_at_a_time(conv)) {
    const int64_t fit = kSlotBytes / (kPlaces * (channels + outputs) * kFloats);
    tiles = std::clamp(fit / kBlockRows, kMinBlocks, kMaxBlocks) * kBlockRows;
  }
  int64_t pixels_step() const { return tiles * channels + kGap; }
  int64_t sums_step() const { return tiles * outputs + kGap; }
  int64_t bytes() const { return (kPlaces * (pixels_step() + sums_step()) + channels) * kFloats; }
};

// sums[tile, output] = pixels[tile, channel] filters[channel, output], at one place.
void multiply_place(const Filters& filters, const float* pixels, int64_t tiles, const float* u,
                    float* sums) {
  const block::Taps taps{
      .rows = 1, .cols = 1, .run = filters.channels, .row_step = 0, .col_step = 0};
  const int64_t blocks = pieces(tiles, kBlockRows);
  for (int64_t panel = 0; panel < filters.panels(); ++panel, u += filters.panel_elements())
    for (int64_t b = 0; b < blocks; ++b) {
      const int64_t first = tiles * b / blocks, n = tiles * (b + 1) / blocks - first;
      const float* x[kBlockRows];
      float* y[kBlockRows];
      for (int64_t j = 0; j < n; ++j) {
        x[j] = pixels + (first + j) * filters.channels;
        y[j] = sums + (first + j) * filters.outputs + panel * kBlockColumns<float>;
      }
      with_count<kBlockRows>(n, [&]<int N>() {
        if (filters.width(panel) == kBlockColumns<float>)
          block::dot<float, 2, N>(x, taps, u, nullptr, y);
        else
          block::dot<float, 1, N>(x, taps, u, nullptr, y);
      });
    }
}

// The outputs of `conv`, at most those of the slot. u: room for their filters; y: rows of y_step.
template <int R, class T>
void make_outputs(const DenseConv& conv, const Slot& slot, const T* x, const T* w, const T* bias,
                  float* u, T* y, int64_t y_step, std::span<std::byte> slots) {
  constexpr int64_t kResults = TileGrid<R>::kResults;
  const Filters filters{conv.inputs, conv.outputs};
  const TileGrid<R> grid(conv.win, conv.images);
  parallel_for(filters.panels() * filters.channels, 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      transform_panel_row<R>(conv, filters, w, i / filters.channels, i % filters.channels, u);
  });
  const auto run = [&](int64_t group, std::byte* memory) {
    const int64_t first = group * slot.tiles, n = std::min(slot.tiles, grid.count() - first);
    float* const pixels = reinterpret_cast<float*>(memory);
    float* const sums = pixels + kPlaces * slot.pixels_step();
    T* const zeros = reinterpret_cast<T*>(sums + kPlaces * slot.sums_step());
    std::fill_n(zeros, slot.channels, T(0));
    for (int64_t t = 0; t < n; ++t) {
      const TilePixels<T> tile(TileAt<R>(grid, conv.win, first + t), x, slot.channels, zeros);
      for (int64_t c = 0; c < slot.channels; c += kLanes<float>)
        tile.template transform<V>(c, pixels + t * slot.channels + c, slot.pixels_step());
    }
    for (int64_t p = 0; p < kPlaces; ++p)
      multiply_place(filters, pixels + p * slot.pixels_step(), n, u + p * filters.place_elements(),
                     sums + p * slot.sums_step());
    for (int64_t t = 0; t < n; ++t) {
      const TileAt<R> tile(grid, conv.win, first + t);
      for (int64_t o = 0; o < conv.outputs; o += kLanes<float>) {
        const V add = bias ? load_as<V>(bias + o) : V{};
        V sum[kPoints][kPoints], result[kResults][kResults];
        load_places(sums + t * conv.outputs + o, slot.sums_step(), sum);
        along_both<EvaluateTransposed>(sum, result);
        tile.for_each_result([&](int64_t i, int64_t j, int64_t pixel) {
          store_as(y + pixel * y_step + o, result[i][j] + add);
        });
      }
    }
  };
  for_each_with_slot(pieces(grid.count(), slot.tiles), slots, slot.bytes(), run);
}

template <int R, class T>
void convolve_typed(const DenseConv& conv, const T* x, const T* w, const T* bias, T* y,
                    std::span<std::byte> workspace) {
  const Slot slot(conv);
  const auto filter_bytes = static_cast<size_t>(Filters{conv.inputs, slot.outputs}.bytes());
  float* const u = reinterpret_cast<float*>(workspace.data());
  for (int64_t first = 0; first < conv.outputs; first += slot.outputs)
    make_outputs<R>(with_outputs(conv, first, std::min(slot.outputs, conv.outputs - first)), slot,
                    x, w, bias ? bias + first : nullptr, u, y + first, conv.outputs,
                    workspace.subspan(filter_bytes));
}

// Products of each filter element with the direct sum, and what the tiles save of them.
struct Products {
  int64_t direct, saved;
  explicit Products(const DenseConv& conv)
      : direct(conv.win.h.taps * conv.win.w.taps * conv.images * conv.win.h.out * conv.win.w.out),
        saved(direct - kPlaces * tile_count(conv.win, conv.images)) {}
};

// Whether a convolution of these sizes has tiles, and they save half of the products.
bool has_tiles(const DenseConv& conv, DType dtype) {
  const Window& win = conv.win;
  const auto plain = [&](const Axis& axis) {
    return axis.taps == win.h.taps && axis.step == 1 && axis.stride == 1 && axis.pitch == 1;
  };
  if (dtype == DType::f64 || conv.groups != 1 || !plain(win.h) || !plain(win.w) ||
      (win.h.taps != 3 && win.h.taps != 5))
    return false;
  const Products products(conv);
  return conv.inputs >= 16 && conv.inputs % kLanes<float> == 0 && conv.outputs >= 16 &&
         conv.outputs % kLanes<float> == 0 && 2 * products.saved >= products.direct;
}

}  // namespace

bool suits(const DenseConv& conv, DType dtype) {
  return has_tiles(conv, dtype) && Products(conv).saved >= kFilterProducts;
}

bool suits_weight_grad(const ConvSizes& s, DType dtype) {
  return has_tiles(dense_forward(s), dtype);
}

bool beats_pairs(const DenseConv& conv) {
  return suits(conv, DType::bf16) && conv.win.h.taps == 3 && conv.inputs >= 32 &&
         conv.outputs >= 32;
}

int64_t workspace(const DenseConv& conv) {
  const Slot slot(conv);
  return Filters{conv.inputs, slot.outputs}.bytes() +
         slots_bytes(pieces(tile_count(conv.win, conv.images), slot.tiles), slot.bytes());
}

void convolve(const DenseConv& conv, const View& x, const View& w, const View& bias, const View& y,
              std::span<std::byte> workspace) {
  visit_floating("conv2d", y.dtype(), [&]<class T>() {
    if constexpr (std::is_same_v<Compute<T>, float>) {
      const auto run = conv.win.h.taps == 3 ? convolve_typed<3, T> : convolve_typed<5, T>;
      run(conv, x.as<T>(), w.as<T>(), bias.as<T>(), y.as<T>(), workspace);
    }
  });
}

}  // namespace plimsoll::winograd
