// A fused instruction: several ops run as one. Its kernel cuts the elements into tiles that the
// caches hold and runs the ops' own kernels on each, one after another, so that what they hand on
// to each other is never sent to memory. The same kernels on the same elements give the same bits.
// On a GPU the members are one kernel of their own, written and compiled when they are fused.
//
//   instruction.op = &fused_op("add+relu", /*in_place=*/true);
//   instruction.attrs = Fused{.members = {add, relu}, .rows = 1, .columns = n, ...};
#pragma once

#include <string>

#include "core/generated.h"
#include "core/program.h"

namespace plimsoll::fusion {

// What a member reads or writes: a part of an input or output of the fused instruction, or of the
// scratch that holds one tile of a value nobody else sees.
struct Slice {
  enum class Of : uint8_t { input, output, scratch };
  Of of = Of::input;
  int number = 0;  // of the input or output; of the slot of scratch
  DType dtype = DType::f32;
  bool whole = false;                     // the input as it is, in every tile
  int64_t row_step = 0, column_step = 0;  // from an element to the one below and to the next
  int64_t width = 0;                      // elements in a row; 0: as many as the tile has columns
  bool operator==(const Slice&) const = default;
};

// On a GPU an op over rows may also be one without a tiling whose further outputs are sums over all
// rows (ops/row_code.h): [columns] each, which take workspace. A group has one of them at most.
inline bool sums_columns(const OpDef& op) { return op.tiling == Tiling::none && op.code; }
inline bool is_over_rows(const OpDef& op) { return op.tiling == Tiling::rows || sums_columns(op); }

// One of the ops.
struct Member {
  const OpDef* op = nullptr;
  Attrs attrs{};
  std::vector<Slice> in{}, out{};
  bool operator==(const Member&) const = default;
};

// What a fused instruction does: its attributes.
struct Fused {
  std::vector<Member> members{};            // in the order they run
  int64_t rows = 1, columns = 0;            // of the matrix of all elements (layout.h)
  int64_t tile_rows = 1, tile_columns = 0;  // either all columns or one row
  int64_t slots = 0, slot_bytes = 0;        // scratch of a thread
  int64_t sum_bytes = 0;                    // of a member's sums over the rows, on a GPU
  double flops = 0;                         // of all members
  int inputs = 0;                           // of the fused instruction
  const GeneratedKernel* kernel = nullptr;  // on a GPU (source.h),
  std::vector<uint64_t> words{};            // and what it is given besides pointers
  bool operator==(const Fused&) const = default;

  int64_t tiles() const;
  int64_t workspace() const;  // bytes of scratch for all threads, or for the sums
};

// The op of fused instructions that say they are `name`; with `in_place` output 0 may lie on input
// 0. There is one for each name, for ever: costs, messages and pictures know ops by it.
const OpDef& fused_op(const std::string& name, bool in_place);
bool is_fused(const Instruction& instruction);

}  // namespace plimsoll::fusion
