#include "ops/conv/conv2d/winograd.h"

#include "core/cpu/slots.h"
#include "ops/conv/conv2d/block.h"
#include "ops/conv/conv2d/winograd_tile.h"

namespace plimsoll::winograd {
namespace {

using V = Vector<float>;
constexpr int64_t kFloats = sizeof(float);
constexpr int64_t kSlotBytes = 1 << 20;  // transformed pixels and sums of the tiles of one slot

// The filters, transformed: [place][panel][channel][kBlockColumns<float> outputs].
struct Filters {
  int64_t channels, outputs;
  int64_t panels() const { return pieces(outputs, kBlockColumns<float>); }
  int64_t panel_elements() const { return channels * kBlockColumns<float>; }
  int64_t place_elements() const { return panels() * panel_elements(); }
  int64_t bytes() const { return block_bytes(kPlaces * place_elements() * kFloats); }
  int64_t width(int64_t panel) const {
    return std::min(kBlockColumns<float>, outputs - panel * kBlockColumns<float>);
  }
};

// One channel of one panel; rows of a narrow panel are as short as they can be.
template <class T>
void transform_panel_row(const DenseConv& conv, const Filters& filters, const T* w, int64_t panel,
                         int64_t channel, float* u) {
  const auto& s = conv.w;
  const int64_t width = filters.width(panel);
  float* to = u + panel * filters.panel_elements() + channel * width;
  const T* from = w + s.first + panel * kBlockColumns<float> * s.output + channel * s.input;
  for (int64_t o = 0; o < width; ++o) {
    float g[9];
    for (int64_t r = 0; r < 3; ++r)
      for (int64_t t = 0; t < 3; ++t)
        g[3 * r + t] = static_cast<float>(from[o * s.output + r * s.row + t * s.col]);
    transform_filter(g, to + o, filters.place_elements());
  }
}

// As many tiles at a time as kSlotBytes hold, in whole blocks of sums.
struct Slot {
  int64_t tiles, channels, outputs;
  explicit Slot(const DenseConv& conv) : channels(conv.inputs), outputs(conv.outputs) {
    const int64_t fit = kSlotBytes / (kPlaces * (channels + outputs) * kFloats);
    tiles = std::clamp<int64_t>(fit / kBlockRows, 1, 10) * kBlockRows;
  }
  int64_t pixels() const { return kPlaces * tiles * channels; }
  int64_t sums() const { return kPlaces * tiles * outputs; }
  int64_t bytes() const { return (pixels() + sums() + channels) * kFloats; }
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
      with_count<kBlockRows>(n, [&]<int R>() {
        if (filters.width(panel) == kBlockColumns<float>)
          block::dot<float, 2, R>(x, taps, u, nullptr, y);
        else
          block::dot<float, 1, R>(x, taps, u, nullptr, y);
      });
    }
}

template <class T>
void convolve_typed(const DenseConv& conv, const T* x, const T* w, const T* bias, T* y,
                    std::span<std::byte> workspace) {
  const Filters filters{conv.inputs, conv.outputs};
  const Slot slot(conv);
  const TileGrid grid(conv.win, conv.images);
  float* const u = reinterpret_cast<float*>(workspace.data());
  parallel_for(filters.panels() * filters.channels, 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      transform_panel_row(conv, filters, w, i / filters.channels, i % filters.channels, u);
  });
  const auto run = [&](int64_t group, std::byte* memory) {
    const int64_t first = group * slot.tiles, n = std::min(slot.tiles, grid.count() - first);
    float* const pixels = reinterpret_cast<float*>(memory);
    float* const sums = pixels + slot.pixels();
    T* const zeros = reinterpret_cast<T*>(sums + slot.sums());
    std::fill_n(zeros, slot.channels, T(0));
    for (int64_t t = 0; t < n; ++t) {
      const TileAt<T> tile(grid, conv.win, x, slot.channels, zeros, first + t);
      for (int64_t c = 0; c < slot.channels; c += kLanes<float>)
        transform_pixels<V>(tile.pixels, c, pixels + t * slot.channels + c,
                            slot.tiles * slot.channels);
    }
    for (int64_t p = 0; p < kPlaces; ++p)
      multiply_place(filters, pixels + p * slot.tiles * slot.channels, n,
                     u + p * filters.place_elements(), sums + p * slot.tiles * slot.outputs);
    for (int64_t t = 0; t < n; ++t) {
      const TileAt<T> tile(grid, conv.win, x, slot.channels, zeros, first + t);
      for (int64_t o = 0; o < slot.outputs; o += kLanes<float>) {
        const V add = bias ? load_as<V>(bias + o) : V{};
        V results[4];
        transform_sums(sums + t * slot.outputs + o, slot.tiles * slot.outputs, results);
        for (int64_t i = 0; i < 2; ++i)
          for (int64_t j = 0; j < 2; ++j)
            if (tile.has(conv.win, i, j))
              store_as(y + tile.result(conv.win, i, j) * slot.outputs + o,
                       results[2 * i + j] + add);
      }
    }
  };
  for_each_with_slot(pieces(grid.count(), slot.tiles),
                     workspace.subspan(static_cast<size_t>(filters.bytes())), slot.bytes(), run);
}

}  // namespace

bool suits(const DenseConv& conv, DType dtype) {
  const auto plain = [](const Axis& axis) {
    return axis.taps == 3 && axis.step == 1 && axis.stride == 1 && axis.pitch == 1;
  };
  return dtype != DType::f64 && conv.groups == 1 && plain(conv.win.h) && plain(conv.win.w) &&
         conv.inputs >= 32 && conv.outputs >= 32 && conv.inputs % kLanes<float> == 0 &&
         conv.outputs % kLanes<float> == 0;
}

int64_t workspace(const DenseConv& conv) {
  const Filters filters{conv.inputs, conv.outputs};
  const Slot slot(conv);
  const TileGrid grid(conv.win, conv.images);
  return filters.bytes() + slots_bytes(pieces(grid.count(), slot.tiles), slot.bytes());
}

void convolve(const DenseConv& conv, const View& x, const View& w, const View& bias, const View& y,
              std::span<std::byte> workspace) {
  visit_floating("conv2d", y.dtype(), [&]<class T>() {
    if constexpr (std::is_same_v<Compute<T>, float>)
      convolve_typed(conv, x.as<T>(), w.as<T>(), bias.as<T>(), y.as<T>(), workspace);
  });
}

}  // namespace plimsoll::winograd
