// A KC block of a matrix product: up to kKC terms of each sum, with what its loops (gemm.cpp) ask
// of its operands. Rows of A are cut into micro-panels of MR, columns of B into micro-panels of NR;
// a run of micro-panels of A is an MC block.
//
//   kc.pack_panel_of_b(p, right);
//   kc.pack_block_of_a(blocks, i, left);
//   kc.multiply_panel(blocks, i, left, p, {right, columns}, ahead, right);  // packs it as well
#pragma once

#include <array>

#include "core/cpu/gemm/micro_kernel.h"
#include "core/cpu/parallel.h"

namespace plimsoll::packed {

// Cuts n things into `count` runs that differ by one at most.
struct Runs {
  int64_t count, length, longer;
  Runs(int64_t n, int64_t runs) : count(runs), length(n / runs), longer(n % runs) {}
  int64_t first(int64_t run) const { return run * length + std::min(run, longer); }
  int64_t size(int64_t run) const { return length + (run < longer); }
  // How many of the runs from `run` to `end` are as long as the first of them.
  int64_t alike(int64_t run, int64_t end) const {
    return (run < longer ? std::min(end, longer) : end) - run;
  }
};

// [m, depth] times [depth, n], into C or added to it.
template <class T>
struct KcBlock {
  MatrixRef<T> a, b;
  int64_t m, n, depth;
  Accumulator<T>* c;
  int64_t c_stride;
  bool add;

  static constexpr int64_t columns = kNR<T>, panel_size = columns * kKC;
  Runs a_panels{m, pieces(m, kMR)};
  int64_t b_panels = pieces(n, columns);
  bool row_major = a.col_stride == 1;
  int64_t pitch = row_major ? kRowPitch : kTermPitch;

  // Some rows and columns of C, and some terms of each sum.
  KcBlock part(int64_t row, int64_t rows, int64_t column, int64_t width, int64_t term,
               int64_t terms) const {
    return {.a = {a.data + row * a.row_stride + term * a.col_stride, a.row_stride, a.col_stride},
            .b = {b.data + term * b.row_stride + column * b.col_stride, b.row_stride, b.col_stride},
            .m = rows,
            .n = width,
            .depth = terms,
            .c = c + row * c_stride + column,
            .c_stride = c_stride,
            .add = add || term > 0};
  }
  // Terms of the KC block that begins with this one; 0 if there are no more.
  int64_t terms_from(int64_t term) const { return std::clamp<int64_t>(depth - term, 0, kKC); }

  int64_t width(int64_t panel) const { return std::min(columns, n - panel * columns); }
  MatrixRef<T> panel_of_b(int64_t panel) const {
    return {b.data + panel * columns * b.col_stride, b.row_stride, b.col_stride};
  }
  // Rows of MC block i.
  int64_t rows(const Runs& blocks, int64_t i) const {
    return a_panels.first(blocks.first(i + 1)) - a_panels.first(blocks.first(i));
  }
  MatrixRef<T> block_of_a(const Runs& blocks, int64_t i) const {
    return {a.data + a_panels.first(blocks.first(i)) * a.row_stride, a.row_stride, a.col_stride};
  }
  void pack_panel_of_b(int64_t p, T* to) const {
    if (packs_while_multiplying(p))
      for (int64_t k = 0; k < depth; ++k)
        copy(b.data + k * b.row_stride + p * columns, columns, to + k * columns);
    else
      pack_panel(panel_of_b(p), depth, width(p), to);
  }
  void pack_block_of_a(const Runs& blocks, int64_t i, T* to) const {
    const MatrixRef<T> block = block_of_a(blocks, i);
    if (row_major) {
      for (int64_t row = 0; row < rows(blocks, i); ++row)
        copy(block.data + row * block.row_stride, depth, to + row * kRowPitch);
      return;
    }
    const int64_t first = blocks.first(i);
    for (int64_t k = 0; k < depth; ++k) {
      const T* from = block.data + k * block.col_stride;
      for (int64_t s = 0; s < blocks.size(i); from += a_panels.size(first + s), ++s)
        pack_term(from, a_panels.size(first + s), to + s * kPanelOfTerms + k * kTermPitch);
    }
  }

  // Calls of Prefetcher::prefetch() in so many products of two micro-panels.
  int64_t prefetches(int64_t products) const {
    return std::max<int64_t>(1, products * depth / kTermsPerPrefetch);
  }
  // Whether micro-panel p of B may be read where it lies, because it is rows of vectors.
  bool reads_in_place(int64_t p) const {
    return b.col_stride == 1 && (width(p) == columns || width(p) == kLanes<T>);
  }
  // Whether micro-panel p of B can be packed while it is multiplied: it is whole and lies in rows.
  bool packs_while_multiplying(int64_t p) const { return b.col_stride == 1 && width(p) == columns; }
  // Micro-panel p of B, where it lies or where it was packed.
  Operand<T> panel(int64_t p, const T* packed) const {
    return reads_in_place(p) ? Operand<T>{panel_of_b(p).data, b.row_stride}
                             : Operand<T>{packed, columns};
  }
  // Multiplies MC block i, which lies at `block`, or is read in place where that is nullptr, by
  // micro-panel p of B, which is `right` and stays in the first-level cache. With `to_pack`, where
  // `right` will be, the first product packs it on the way; A in place is row-major then.
  void multiply_panel(const Runs& blocks, int64_t i, const T* block, int64_t p, Operand<T> right,
                      Prefetcher& ahead, T* to_pack = nullptr) const {
    const int form = 2 * (block != nullptr) + row_major;
    const auto run = std::array{multiply_run<T, kTermsInPlace>, multiply_run<T, kRowsInPlace>,
                                multiply_run<T, kPackedTerms>, multiply_run<T, kPackedRows>}[form];
    const auto one = std::array{multiply_one<T, kTermsInPlace>, multiply_one<T, kRowsInPlace>,
                                multiply_one<T, kPackedTerms>, multiply_one<T, kPackedRows>}[form];
    const int64_t first = blocks.first(i), last = blocks.first(i + 1);
    const bool whole = width(p) == columns || width(p) == kLanes<T>;
    Operand<T> left =
        block ? Operand<T>{block, pitch}
              : Operand<T>{block_of_a(blocks, i).data, row_major ? a.row_stride : a.col_stride};
    Accumulator<T>* to = c + a_panels.first(first) * c_stride + p * columns;
    int64_t s = first;
    if (to_pack) {
      const auto packing = !block      ? multiply_and_pack<T, kRowsInPlace>
                           : row_major ? multiply_and_pack<T, kPackedRows>
                                       : multiply_and_pack<T, kPackedTerms>;
      const int64_t rows = a_panels.size(s), step = block ? distance(rows) : rows * a.row_stride;
      packing(left, {panel_of_b(p).data, b.row_stride}, rows, depth, to, c_stride, add, ahead,
              to_pack);
      left.data += step;
      to += rows * c_stride;
      ++s;
    }
    for (int64_t count; s < last; s += count) {
      const int64_t rows = a_panels.size(s), step = block ? distance(rows) : rows * a.row_stride;
      count = whole ? a_panels.alike(s, last) : 1;
      if (whole)
        run(count, {step, 0, rows * c_stride}, left, right, rows, depth, width(p) / kLanes<T>, to,
            c_stride, add, ahead);
      else
        one(left, right, rows, depth, width(p), to, c_stride, add, ahead);
      left.data += count * step;
      to += count * rows * c_stride;
    }
  }
  // From a packed micro-panel of A to the next.
  int64_t distance(int64_t rows) const { return row_major ? rows * kRowPitch : kPanelOfTerms; }
};

}  // namespace plimsoll::packed
