#include "ops/conv/conv2d/implicit_gemm.h"

#include <array>

#include "core/cpu/gemm/gemm_tiles.h"
#include "core/cpu/gemm/pairs.h"
#include "ops/conv/conv2d/patch.h"

namespace plimsoll::implicit_gemm {
namespace {

// Copies n elements of each line, in pieces of which the last overlaps the one before.
template <int64_t kBytes>
void copy_pieces(int64_t lines, int64_t n, const BFloat16* from, int64_t from_step, BFloat16* to,
                 int64_t to_step) {
  constexpr int64_t piece = kBytes / 2;
  const auto copy = [](const BFloat16* x, BFloat16* y) {
    std::memcpy(static_cast<void*>(y), x, kBytes);
  };
  for (int64_t line = 0; line < lines; ++line, from += from_step, to += to_step) {
    for (int64_t i = 0; i + piece < n; i += piece) copy(from + i, to + i);
    copy(from + n - piece, to + n - piece);
  }
}
void copy_lines(int64_t lines, int64_t n, const BFloat16* from, int64_t from_step, BFloat16* to,
                int64_t to_step) {
  const auto copy = n >= 32   ? copy_pieces<64>
                    : n >= 16 ? copy_pieces<32>
                    : n >= 8  ? copy_pieces<16>
                    : n >= 4  ? copy_pieces<8>
                    : n >= 2  ? copy_pieces<4>
                              : copy_pieces<2>;
  copy(lines, n, from, from_step, to, to_step);
}

// How many terms of a window lie side by side in memory: those of neighbouring taps of a row.
int64_t run_of(const Window& win, int64_t channels) {
  return win.w.pitch == 1 ? win.w.taps * channels : channels;
}

// The matrix of all windows of a batch: [images x rows x columns of windows, taps x channels].
class Windows {
 public:
  Windows(const Window& win, const BFloat16* x, int64_t channels)
      : win_(win),
        x_(x),
        channels_(channels),
        run_(run_of(win, channels)),
        runs_(win.w.pitch == 1 ? 1 : win.w.taps) {}

  // Columns column ... column + columns - 1 of `count` rows from `row` on, in lines of `pitch`
  // elements.
  void gather(int64_t row, int64_t count, int64_t column, int64_t columns, BFloat16* to,
              int64_t pitch) const {
    for (int64_t some; count > 0; count -= some, row += some, to += some * pitch) {
      const Place place = place_of(row);
      some = std::min(count, win_.w.out - place.col);  // of one row of windows
      int64_t run = columns ? column / run_ : 0, skipped = columns ? column % run_ : 0;
      for (int64_t done = 0; done < columns; ++run, skipped = 0) {
        const int64_t n = std::min(run_ - skipped, columns - done);
        copy_runs(place, some, run, skipped, n, to + done, pitch);
        done += n;
      }
    }
  }

  struct Place {
    int64_t image, row, col;
  };
  Place place_of(int64_t window) const {
    const int64_t row = window / win_.w.out;
    return {row / win_.h.out, row % win_.h.out, window % win_.w.out};
  }

 private:
  // Of neighbouring windows from `at` on the n elements of a run from number `first` on: pixels of
  // one row of the image, zeros beside it.
  void copy_runs(const Place& at, int64_t windows, int64_t run, int64_t first, int64_t n,
                 BFloat16* to, int64_t pitch) const {
    const int64_t row = at.row * win_.h.step + win_.h.origin + run / runs_ * win_.h.pitch;
    const int64_t col = at.col * win_.w.step + win_.w.origin + run % runs_ * win_.w.pitch;
    const int64_t begin = col * channels_ + first, step = win_.w.step * channels_;
    const int64_t width = win_.w.in * channels_;
    const BFloat16* const line = x_ + (at.image * win_.h.in + row) * width;
    // Windows [left, right) have all of it inside.
    int64_t left = 0, right = 0;
    if (row >= 0 && row < win_.h.in) {
      while (left < windows && begin + left * step < 0) ++left;
      for (right = windows; right > left && begin + (right - 1) * step + n > width;) --right;
      copy_lines(right - left, n, line + begin + left * step, step, to + left * pitch, pitch);
    }
    const bool outside = row < 0 || row >= win_.h.in;
    const auto edge = [&](int64_t window) {
      BFloat16* const line_of = to + window * pitch;
      const int64_t place = begin + window * step;
      const int64_t from = outside ? n : std::clamp<int64_t>(-place, 0, n);
      const int64_t end = outside ? n : std::clamp<int64_t>(width - place, from, n);
      std::fill_n(line_of, from, BFloat16());
      std::copy(line + place + from, line + place + end, line_of + from);
      std::fill_n(line_of + end, n - end, BFloat16());
    };
    for (int64_t window = 0; window < left; ++window) edge(window);
    for (int64_t window = right; window < windows; ++window) edge(window);
  }

  const Window& win_;
  const BFloat16* x_;
  int64_t channels_, run_, runs_;
};

// 16 neighbouring windows of a row, a band, are 16 rows of a tile that lie in the image, or in a
// copy with zeros around it: their pixels are as far apart as the windows, and the terms of a tile,
// channels of neighbouring taps, side by side. So nothing is gathered. The last band of a row of
// windows overlaps the one before; where an image has an odd number of them the last one is done
// twice.
class Bands {
 public:
  explicit Bands(const DenseConv& conv)
      : win_(conv.win),
        channels_(conv.inputs),
        images_(conv.images),
        across_(pieces(win_.w.out, kTileLines)),
        of_image_(pieces(win_.h.out * across_, 2) * 2),
        is_copied_(win_.h.origin < 0 || win_.w.origin < 0 ||
                   win_.h.origin + win_.h.reach(win_.h.out) > win_.h.in ||
                   win_.w.origin + win_.w.reach(win_.w.out) > win_.w.in),
        line_(channels_ * (is_copied_ ? win_.w.reach(win_.w.out) : win_.w.in)) {
    if (!has_whole_tiles()) return;
    size_t tile = 0;
    for (int64_t row = 0; row < win_.h.taps; ++row)
      for (int64_t term = 0; term < run(); term += kTileTerms)
        steps_[tile++] = 2 * (row * win_.h.pitch * line_ + term);
  }

  // Whether terms are whole tiles, bands are nearly full, and an image fits. A band that is not
  // full reads on behind the image: that must be a copy.
  bool suit() const {
    constexpr int64_t kLeast = 12;
    const int64_t beyond = kTileLines * win_.w.step * channels_;
    return has_whole_tiles() && win_.w.out >= (is_copied_ ? kLeast : kTileLines) &&
           2 * (win_.h.reach(win_.h.out) * line_ + beyond) <= TileMemory::kPatch;
  }
  int64_t of_image() const { return of_image_; }
  int64_t count() const { return images_ * of_image_; }
  int64_t width() const { return std::min(kTileLines, win_.w.out); }

  Windows::Place place_of(int64_t band) const {
    const int64_t own = std::min(band % of_image_, win_.h.out * across_ - 1);
    const int64_t col = std::min(own % across_ * kTileLines, win_.w.out - width());
    return {band / of_image_, own / across_, col};
  }

  // This band and the next.
  TileRows rows(const BFloat16* x, int64_t band, TileMemory& memory) const {
    const Windows::Place at = place_of(band), next = place_of(band + 1);
    const BFloat16* image =
        x + at.image * win_.h.in * line_ + win_.h.origin * line_ + win_.w.origin * channels_;
    if (is_copied_) {
      auto* const copy = reinterpret_cast<BFloat16*>(memory.patch);
      if (memory.held != at.image)
        load_patch<BFloat16>(x, win_, {at.image, 0, 0, win_.h.out, win_.w.out},
                             {.channels = channels_}, copy);
      memory.held = at.image;
      image = copy;
    }
    const auto offset = [&](const Windows::Place& place) {
      return 2 * (place.row * win_.h.step * line_ + place.col * win_.w.step * channels_);
    };
    return {.data = reinterpret_cast<const std::byte*>(image) + offset(at),
            .pitch = 2 * win_.w.step * channels_,
            .second = offset(next) - offset(at),
            .steps = steps_.data()};
  }

 private:
  static constexpr int64_t kMostTerms = 8192;
  int64_t run() const { return win_.w.taps * channels_; }  // terms side by side
  bool has_whole_tiles() const {
    return win_.w.pitch == 1 && run() % kTileTerms == 0 && run() * win_.h.taps > 0 &&
           run() * win_.h.taps <= kMostTerms;
  }

  const Window& win_;
  int64_t channels_, images_, across_, of_image_;
  bool is_copied_;
  int64_t line_;  // elements of a row of the image, or of its copy
  std::array<int64_t, kMostTerms / kTileTerms> steps_{};
};

// The filters as the columns of a matrix, whose terms are those of a window.
class Filters {
 public:
  Filters(const DenseConv& conv, const BFloat16* w) : conv_(conv), w_(w + conv.w.first) {}

  // As `right` of for_tiles().
  void pack(int64_t output, int64_t outputs, int64_t term, int64_t terms, uint32_t* strips) const {
    if (terms == 0) return;  // there may be no taps
    const auto& s = conv_.w;
    if (s.input == 1 && s.col == conv_.inputs && s.row == conv_.win.w.taps * s.col)
      return pack_strips<BFloat16>({w_, 1, s.output}, output, outputs, term, terms, strips,
                                   pieces(terms, kTileTerms) * kTileWords);
    auto* to = reinterpret_cast<BFloat16Pair*>(strips);
    for (int64_t o = output; o < output + outputs; o += kTileLines) {
      const int64_t width = std::min(kTileLines, output + outputs - o);
      Term next = term_at(term);
      for (int64_t t = 0; t < pieces(terms, kTileTerms) * kTileTerms; t += 2, to += kTileLines) {
        const BFloat16* const even = t < terms ? take(next, o) : nullptr;
        const BFloat16* const odd = t + 1 < terms ? take(next, o) : nullptr;
        if (even && odd && s.output == 1 && width == kTileLines) {
          interleave(even, odd, kTileLines, to);
        } else {
          for (int64_t i = 0; i < kTileLines; ++i)
            to[i] = {even && i < width ? even[i * s.output] : BFloat16(),
                     odd && i < width ? odd[i * s.output] : BFloat16()};
        }
      }
    }
  }

 private:
  struct Term {
    int64_t row, col, input;
  };
  Term term_at(int64_t number) const {
    const int64_t tap = number / conv_.inputs;
    return {tap / conv_.win.w.taps, tap % conv_.win.w.taps, number % conv_.inputs};
  }
  // Where a term of the filters from `output` on lies; moves on to the next term.
  const BFloat16* take(Term& term, int64_t output) const {
    const auto& s = conv_.w;
    const BFloat16* const at =
        w_ + term.row * s.row + term.col * s.col + term.input * s.input + output * s.output;
    if (++term.input == conv_.inputs) {
      term.input = 0;
      if (++term.col == conv_.win.w.taps) term.col = 0, ++term.row;
    }
    return at;
  }

  const DenseConv& conv_;
  const BFloat16* w_;
};

}  // namespace

bool suits(const DenseConv& conv, DType dtype) {
  constexpr int64_t kLeastRun = 8;  // measured: runs of 5 do not pay, of 10 do
  return dtype == DType::bf16 && conv.groups == 1 && run_of(conv.win, conv.inputs) >= kLeastRun &&
         bfloat16_products() == BFloat16Products::tiles;
}

void convolve(const DenseConv& conv, const View& x, const View& w, const View& bias,
              const View& y) {
  const Window& win = conv.win;
  const Filters filters(conv, w.as<BFloat16>());
  const BFloat16* const add = bias.as<BFloat16>();
  BFloat16* const results = y.as<BFloat16>();
  const auto right = [&](int64_t output, int64_t outputs, int64_t term, int64_t terms,
                         uint32_t* strips) { filters.pack(output, outputs, term, terms, strips); };
  // Results of windows from `at` on, neighbours in a row.
  const auto store_row = [&](const Windows::Place& at, int64_t count, int64_t output,
                             int64_t outputs, const float* sums) {
    const int64_t row = at.image * win.h.total + win.h.start + at.row * win.h.stride;
    const int64_t col = win.w.start + at.col * win.w.stride;
    BFloat16* to = results + (row * win.w.total + col) * conv.outputs + output;
    for (int64_t i = 0; i < count; ++i, to += win.w.stride * conv.outputs)
      store_sums(sums + i * kSumsAcross, outputs, add ? add + output : nullptr, to);
  };
  const int64_t depth = conv.depth();
  if (const Bands bands(conv); bands.suit()) {
    const int64_t rows = bands.count() * kTileLines;
    for_tiles(
        {rows, conv.outputs, depth, TileLeft::patch, bands.of_image() * kTileLines},
        [&](int64_t row, int64_t, int64_t, int64_t, TileMemory& memory) {
          return bands.rows(x.as<BFloat16>(), row / kTileLines, memory);
        },
        right,
        [&](int64_t row, int64_t some, int64_t output, int64_t outputs, const float* sums) {
          for (int64_t i = 0; i < some; i += kTileLines)
            store_row(bands.place_of((row + i) / kTileLines), bands.width(), output, outputs,
                      sums + i * kSumsAcross);
        });
    return;
  }
  const int64_t count = conv.images * win.h.out * win.w.out;
  const Windows windows(win, x.as<BFloat16>(), conv.inputs);
  for_tiles(
      {count, conv.outputs, depth, TileLeft::packed},
      [&](int64_t window, int64_t some, int64_t term, int64_t terms, const TileMemory& memory) {
        constexpr int64_t pitch = TileMemory::kPitch / 2;
        auto* const rows = reinterpret_cast<BFloat16*>(memory.left);
        const int64_t width = pieces(terms, kTileTerms) * kTileTerms;
        if (terms < width)
          for (int64_t i = 0; i < some; ++i)
            std::fill_n(rows + i * pitch + width - kTileTerms, kTileTerms, BFloat16());
        windows.gather(window, some, term, terms, rows, pitch);
        for (int64_t i = some; i % kTileLines != 0; ++i)
          std::fill_n(rows + i * pitch, width, BFloat16());
        return TileRows{memory.left, TileMemory::kPitch};
      },
      right,
      [&](int64_t window, int64_t some, int64_t output, int64_t outputs, const float* sums) {
        for (int64_t i = 0, n; i < some; i += n) {
          const Windows::Place at = windows.place_of(window + i);
          n = std::min(some - i, win.w.out - at.col);
          store_row(at, n, output, outputs, sums + i * kSumsAcross);
        }
      });
}

void weight_grad(const ConvSizes& s, const View& x, const View& dy, const View& dw, int64_t parts,
                 std::span<std::byte> workspace) {
  const Window win = forward_window(s);
  const Windows windows(win, x.as<BFloat16>(), s.c);
  const int64_t count = s.n * s.p * s.q, depth = s.taps() * s.c;
  const MatrixRef<BFloat16> gradients{dy.as<BFloat16>(), 1, s.o};  // [outputs, windows]
  auto* const partials = reinterpret_cast<float*>(workspace.data());
  BFloat16* const result = dw.as<BFloat16>();
  const auto sum = [&](int64_t first, int64_t last, auto* to) {
    for_tiles(
        {s.o, depth, last - first, TileLeft::packed},
        [&](int64_t output, int64_t outputs, int64_t window, int64_t n, const TileMemory& memory) {
          return tile_rows(gradients, output, outputs, first + window, n, memory.left);
        },
        [&](int64_t column, int64_t columns, int64_t window, int64_t n, uint32_t* strips) {
          alignas(64) BFloat16 rows[kTileTerms * TileCut::kColumns];
          const int64_t strip = pieces(n, kTileTerms) * kTileWords;
          for (int64_t t = 0; t < n; t += kTileTerms, strips += kTileWords) {
            const int64_t some = std::min(kTileTerms, n - t);
            windows.gather(first + window + t, some, column, columns, rows, TileCut::kColumns);
            pack_strips<BFloat16>({rows, TileCut::kColumns, 1}, 0, columns, 0, some, strips, strip);
          }
        },
        [&](int64_t output, int64_t outputs, int64_t column, int64_t columns, const float* sums) {
          for (int64_t i = 0; i < outputs; ++i)
            store_sums<float>(sums + i * kSumsAcross, columns, nullptr,
                              to + (output + i) * depth + column);
        });
  };
  if (parts == 1) return sum(0, count, result);
  const auto sum_parts = [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p)
      sum(count * p / parts, count * (p + 1) / parts, partials + p * s.o * depth);
  };
  const TileCut cut(s.o, depth, count / parts, TileLeft::packed);
  if (parts % num_threads() == 0 || cut.down * cut.across < num_threads())
    parallel_for(parts, 1, sum_parts);
  else
    sum_parts(0, parts);  // each on all threads, which leaves none of them without work
  parallel_for(s.o * depth, grain_for(parts), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      float total = 0;
      for (int64_t p = 0; p < parts; ++p) total += partials[p * s.o * depth + i];
      result[i] = narrow<BFloat16>(total);
    }
  });
}

}  // namespace plimsoll::implicit_gemm
