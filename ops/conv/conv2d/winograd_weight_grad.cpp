#include "core/cpu/slots.h"
#include "ops/conv/conv2d/block.h"
#include "ops/conv/conv2d/winograd.h"
#include "ops/conv/conv2d/winograd_tile.h"

namespace plimsoll::winograd {
namespace {

using V = Vector<float>;
constexpr int64_t kFloats = sizeof(float);
constexpr int64_t kUnits = 16;      // enough to keep the threads of a workstation busy
constexpr int64_t kMinTiles = 128;  // of a piece, so that its sums are few beside them
// Channels and outputs of a unit, at most, and tiles that are transformed at a time. Images are
// read again for other channels and outputs, and sums again for other tiles, so fewer are slower;
// more were no faster, and took more scratch.
constexpr int64_t kChannels = 128, kOutputs = 64, kChunk = 24;
constexpr int64_t kPartialBytes = 4 << 20;  // what the gradients of several pieces may take

// A unit of work is one piece of the tiles, some of the channels and some of the outputs: its sums
// over the tiles stay in its slot, and only the gradient that they give leaves it. The gradients of
// several pieces are added in order at the end. All cuts depend on the sizes alone.
struct Units {
  int64_t channels, outputs, taps, tiles, channel_parts, output_parts, batch_pieces;
  explicit Units(const ConvSizes& s)
      : channels(s.c),
        outputs(s.o),
        taps(s.taps()),
        tiles(tile_count(forward_window(s), s.n)),
        channel_parts(pieces(channels, kChannels)),
        output_parts(pieces(outputs, kOutputs)) {
    const int64_t enough = pieces(kUnits, channel_parts * output_parts);
    const int64_t fit = kPartialBytes / (gradient() * kFloats);
    batch_pieces = std::max<int64_t>(std::min({enough, fit, tiles / kMinTiles}), 1);
  }
  int64_t count() const { return batch_pieces * channel_parts * output_parts; }
  int64_t gradient() const { return outputs * taps * channels; }  // elements, of one piece
  int64_t partial_bytes() const {                                 // a single piece writes to dw
    return batch_pieces > 1 ? block_bytes(batch_pieces * gradient() * kFloats) : 0;
  }
  int64_t slot_bytes() const {
    const int64_t c = std::min(channels, kChannels), o = std::min(outputs, kOutputs);
    return (kPlaces * (kChunk * (c + o) + c * o + 3 * kGap) + channels) * kFloats;
  }
};

// Part number `part` of n channels, in whole vectors.
struct Range {
  int64_t first, count;
  Range(int64_t n, int64_t parts, int64_t part) {
    const auto begin = [&](int64_t i) { return n / kLanes<float> * i / parts * kLanes<float>; };
    first = begin(part);
    count = begin(part + 1) - first;
  }
};

// What one unit sums up, and the parts of its slot, all of them [place][...].
struct Unit {
  int64_t first_tile, last_tile, piece;
  Range c, o;
  int64_t pixels_step, results_step, sums_step;  // between places
  float *pixels, *results;                       // [tile of the chunk, channel or output]
  float* sums;                                   // [output, channel]
  std::byte* zeros;

  Unit(const Units& units, int64_t number, std::byte* slot)
      : piece(number / (units.channel_parts * units.output_parts)),
        c(units.channels, units.channel_parts, number % units.channel_parts),
        o(units.outputs, units.output_parts, number / units.channel_parts % units.output_parts),
        pixels_step(kChunk * c.count + kGap),
        results_step(kChunk * o.count + kGap),
        sums_step(o.count * c.count + kGap),
        pixels(reinterpret_cast<float*>(slot)),
        results(pixels + kPlaces * pixels_step),
        sums(results + kPlaces * results_step),
        zeros(reinterpret_cast<std::byte*>(sums + kPlaces * sums_step)) {
    first_tile = units.tiles * piece / units.batch_pieces;
    last_tile = units.tiles * (piece + 1) / units.batch_pieces;
  }
};

// sums[output, channel] += results[tile, output] pixels[tile, channel], over `tiles`, at one place.
void multiply_place(const Unit& unit, int64_t place, int64_t tiles) {
  const int64_t channels = unit.c.count, outputs = unit.o.count;
  const float* x = unit.pixels + place * unit.pixels_step;
  const float* g = unit.results + place * unit.results_step;
  float* sums = unit.sums + place * unit.sums_step;
  const block::Field field{
      .rows = 1, .cols = tiles, .x_row = 0, .x_col = outputs, .dy_row = 0, .dy_col = channels};
  const int64_t blocks = pieces(outputs, kBlockRows);
  for (int64_t c = 0; c < channels; c += kBlockColumns<float>)
    for (int64_t b = 0; b < blocks; ++b) {
      const int64_t o = outputs * b / blocks, n = outputs * (b + 1) / blocks - o;
      float* to = sums + o * channels + c;
      with_count<kBlockRows>(n, [&]<int N>() {
        if (channels - c >= kBlockColumns<float>)
          block::outer<float, 2, N>(g + o, x + c, field, to, channels);
        else
          block::outer<float, 1, N>(g + o, x + c, field, to, channels);
      });
    }
}

template <int R, class T>
void sum_tiles(const ConvSizes& s, const Unit& unit, const T* x, const T* dy) {
  constexpr int64_t kResults = TileGrid<R>::kResults;
  const Window win = forward_window(s);
  const TileGrid<R> grid(win, s.n);
  T* const zeros = reinterpret_cast<T*>(unit.zeros);
  std::fill_n(zeros, s.c, T(0));
  std::fill_n(unit.sums, kPlaces * unit.sums_step, 0.0f);
  for (int64_t t0 = unit.first_tile; t0 < unit.last_tile; t0 += kChunk) {
    const int64_t n = std::min(kChunk, unit.last_tile - t0);
    for (int64_t t = 0; t < n; ++t) {
      const TileAt<R> tile(grid, win, t0 + t);
      const TilePixels<T> tile_pixels(tile, x, s.c, zeros);
      for (int64_t c = 0; c < unit.c.count; c += kLanes<float>)
        tile_pixels.template transform<V>(unit.c.first + c, unit.pixels + t * unit.c.count + c,
                                          unit.pixels_step);
      for (int64_t o = 0; o < unit.o.count; o += kLanes<float>) {
        V g[kResults][kResults] = {}, value[kPoints][kPoints];
        tile.for_each_result([&](int64_t i, int64_t j, int64_t pixel) {
          g[i][j] = load_as<V>(dy + pixel * s.o + unit.o.first + o);
        });
        along_both<Evaluate>(g, value);
        store_places(value, unit.results + t * unit.o.count + o, unit.results_step);
      }
    }
    for (int64_t p = 0; p < kPlaces; ++p) multiply_place(unit, p, n);
  }
}

// What the unit's sums say, to its elements of dw [output, tap, channel].
template <int R, class T>
void write_gradient(const ConvSizes& s, const Unit& unit, T* dw) {
  for (int64_t o = 0; o < unit.o.count; ++o)
    for (int64_t c = 0; c < unit.c.count; c += kLanes<float>) {
      V sum[kPoints][kPoints], dg[R][R];
      load_places(unit.sums + o * unit.c.count + c, unit.sums_step, sum);
      divide(sum);
      along_both<EvaluateTransposed>(sum, dg);
      T* to = dw + (unit.o.first + o) * R * R * s.c + unit.c.first + c;
      for (const auto& row : dg)
        for (const V& v : row) {
          store_as(to, v);
          to += s.c;
        }
    }
}

template <int R, class T>
void weight_grad_typed(const ConvSizes& s, const T* x, const T* dy, T* dw,
                       std::span<std::byte> workspace) {
  const Units units(s);
  const bool direct = units.batch_pieces == 1;
  float* const partial = reinterpret_cast<float*>(workspace.data());
  for_each_with_slot(units.count(), workspace.subspan(static_cast<size_t>(units.partial_bytes())),
                     units.slot_bytes(), [&](int64_t number, std::byte* slot) {
                       const Unit unit(units, number, slot);
                       sum_tiles<R>(s, unit, x, dy);
                       if (direct)
                         write_gradient<R>(s, unit, dw);
                       else
                         write_gradient<R>(s, unit, partial + unit.piece * units.gradient());
                     });
  if (direct) return;
  parallel_for(units.gradient(), 4096, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      float sum = 0;
      for (int64_t piece = 0; piece < units.batch_pieces; ++piece)
        sum += partial[piece * units.gradient() + i];
      dw[i] = narrow<T>(sum);
    }
  });
}

}  // namespace

int64_t weight_grad_workspace(const ConvSizes& s) {
  const Units units(s);
  return units.partial_bytes() + slots_bytes(units.count(), units.slot_bytes());
}

void weight_grad(const ConvSizes& s, const View& x, const View& dy, const View& dw,
                 std::span<std::byte> workspace) {
  visit_floating("conv2d_weight_grad", dw.dtype(), [&]<class T>() {
    if constexpr (std::is_same_v<Compute<T>, float>) {
      const auto run = s.kh == 3 ? weight_grad_typed<3, T> : weight_grad_typed<5, T>;
      run(s, x.as<T>(), dy.as<T>(), dw.as<T>(), workspace);
    }
  });
}

}  // namespace plimsoll::winograd
