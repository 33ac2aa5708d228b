#include "core/cpu/slots.h"
#include "ops/conv/conv2d/block.h"
#include "ops/conv/conv2d/winograd.h"
#include "ops/conv/conv2d/winograd_tile.h"

namespace plimsoll::winograd {
namespace {

using V = Vector<float>;
constexpr int64_t kFloats = sizeof(float);
constexpr int64_t kUnits = 16;              // enough to keep the threads of a workstation busy
constexpr int64_t kMinTiles = 256;          // of a piece, so that its sums are few beside them
constexpr int64_t kPartialBytes = 4 << 20;  // what the pieces' sums may take, if there are several
constexpr int64_t kSlotBytes = 768 << 10;   // transformed pixels and results of a unit's tiles

// A unit of work is one piece of the tiles and some of the channels; the pieces' sums are added in
// order at the end. Both cuts depend on the sizes alone.
struct Units {
  int64_t channels, outputs, tiles, batch_pieces, channel_parts, chunk;
  explicit Units(const ConvSizes& s)
      : channels(s.c), outputs(s.o), tiles(TileGrid(forward_window(s), s.n).count()) {
    batch_pieces = std::clamp<int64_t>(
        std::min(kPartialBytes / (sums() * kFloats), tiles / kMinTiles), 1, kUnits);
    channel_parts = std::min(pieces(kUnits, batch_pieces), channels / kLanes<float>);
    chunk = std::max<int64_t>(kSlotBytes / (kPlaces * (part_channels() + outputs) * kFloats), 16);
  }
  int64_t count() const { return batch_pieces * channel_parts; }
  int64_t sums() const { return kPlaces * channels * outputs; }  // of one piece
  // The channels of a part are whole vectors.
  int64_t first_channel(int64_t part) const {
    return channels / kLanes<float> * part / channel_parts * kLanes<float>;
  }
  int64_t part_channels() const {  // of the largest
    return pieces(channels / kLanes<float>, channel_parts) * kLanes<float>;
  }
  int64_t partial_bytes() const { return block_bytes(batch_pieces * sums() * kFloats); }
  int64_t pixels() const { return kPlaces * chunk * part_channels(); }
  int64_t results() const { return kPlaces * chunk * outputs; }
  int64_t slot_bytes() const { return (pixels() + results() + channels) * kFloats; }
};

// du[channel, output] += x[tile, channel] g[tile, output], summed over the tiles.
void multiply_place(const float* x, int64_t channels, const float* g, int64_t outputs,
                    int64_t tiles, float* du) {
  const block::Field field{
      .rows = 1, .cols = tiles, .x_row = 0, .x_col = channels, .dy_row = 0, .dy_col = outputs};
  const int64_t blocks = pieces(channels, kBlockRows);
  for (int64_t o = 0; o < outputs; o += kBlockColumns<float>)
    for (int64_t b = 0; b < blocks; ++b) {
      const int64_t c = channels * b / blocks, n = channels * (b + 1) / blocks - c;
      float* to = du + c * outputs + o;
      with_count<kBlockRows>(n, [&]<int R>() {
        if (outputs - o >= kBlockColumns<float>)
          block::outer<float, 2, R>(x + c, g + o, field, to, outputs);
        else
          block::outer<float, 1, R>(x + c, g + o, field, to, outputs);
      });
    }
}

template <class T>
struct Problem {
  const Window win;
  const TileGrid grid;
  const T *x, *dy;
};

// Adds the tiles of one unit to its part of `sums` [place, channel, output].
template <class T>
void run_unit(const Problem<T>& p, const Units& units, int64_t unit, float* sums, float* slot) {
  const int64_t piece = unit / units.channel_parts, part = unit % units.channel_parts;
  const int64_t first = units.first_channel(part), own = units.first_channel(part + 1) - first;
  float *const pixels = slot, *const results = pixels + units.pixels();
  T* const zeros = reinterpret_cast<T*>(results + units.results());
  std::fill_n(zeros, units.channels, T(0));
  sums += piece * units.sums() + first * units.outputs;
  const int64_t place = units.channels * units.outputs;
  for (int64_t at = 0; at < kPlaces; ++at)
    std::fill_n(sums + at * place, own * units.outputs, 0.0f);
  const int64_t end = units.tiles * (piece + 1) / units.batch_pieces;
  for (int64_t t0 = units.tiles * piece / units.batch_pieces; t0 < end; t0 += units.chunk) {
    const int64_t n = std::min(units.chunk, end - t0);
    for (int64_t t = 0; t < n; ++t) {
      const TileAt<T> tile(p.grid, p.win, p.x, units.channels, zeros, t0 + t);
      for (int64_t c = 0; c < own; c += kLanes<float>)
        transform_pixels<V>(tile.pixels, first + c, pixels + t * own + c, units.chunk * own);
      for (int64_t o = 0; o < units.outputs; o += kLanes<float>) {
        V g[4];
        for (int64_t i = 0; i < 2; ++i)
          for (int64_t j = 0; j < 2; ++j)
            g[2 * i + j] = tile.has(p.win, i, j)
                               ? load_as<V>(p.dy + tile.result(p.win, i, j) * units.outputs + o)
                               : V{};
        transform_results(g, results + t * units.outputs + o, units.chunk * units.outputs);
      }
    }
    for (int64_t at = 0; at < kPlaces; ++at)
      multiply_place(pixels + at * units.chunk * own, own,
                     results + at * units.chunk * units.outputs, units.outputs, n,
                     sums + at * place);
  }
}

// Adds up the pieces' sums of one channel and kLanes outputs and writes their filters' gradients.
template <class T>
void add_pieces(const Units& units, const float* sums, T* dw) {
  V u[kPlaces] = {}, dg[9];
  for (int64_t piece = 0; piece < units.batch_pieces; ++piece)
    for (int64_t at = 0; at < kPlaces; ++at)
      u[at] += load<V>(sums + piece * units.sums() + at * units.channels * units.outputs);
  transform_filter_grad(u, dg);
  for (int64_t o = 0; o < kLanes<float>; ++o)
    for (int64_t tap = 0; tap < 9; ++tap)
      dw[(o * 9 + tap) * units.channels] = narrow<T>(dg[tap][o]);
}

template <class T>
void weight_grad_typed(const ConvSizes& s, const T* x, const T* dy, T* dw,
                       std::span<std::byte> workspace) {
  const Units units(s);
  const Window win = forward_window(s);
  const Problem<T> problem{win, TileGrid(win, s.n), x, dy};
  float* const sums = reinterpret_cast<float*>(workspace.data());
  for_each_with_slot(units.count(), workspace.subspan(static_cast<size_t>(units.partial_bytes())),
                     units.slot_bytes(), [&](int64_t unit, std::byte* slot) {
                       run_unit(problem, units, unit, sums, reinterpret_cast<float*>(slot));
                     });
  parallel_for(s.o / kLanes<float>, 1, [&](int64_t begin, int64_t end) {
    for (int64_t o = begin * kLanes<float>; o < end * kLanes<float>; o += kLanes<float>)
      for (int64_t c = 0; c < s.c; ++c) add_pieces(units, sums + c * s.o + o, dw + o * 9 * s.c + c);
  });
}

}  // namespace

bool suits_weight_grad(const ConvSizes& s, DType dtype) { return suits(dense_forward(s), dtype); }

int64_t weight_grad_workspace(const ConvSizes& s) {
  const Units units(s);
  return units.partial_bytes() + slots_bytes(units.count(), units.slot_bytes());
}

void weight_grad(const ConvSizes& s, const View& x, const View& dy, const View& dw,
                 std::span<std::byte> workspace) {
  visit_floating("conv2d_weight_grad", dw.dtype(), [&]<class T>() {
    if constexpr (std::is_same_v<Compute<T>, float>)
      weight_grad_typed(s, x.as<T>(), dy.as<T>(), dw.as<T>(), workspace);
  });
}

}  // namespace plimsoll::winograd
