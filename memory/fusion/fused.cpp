#include "memory/fusion/fused.h"

#include <map>
#include <mutex>

#include "core/cpu/slots.h"
#include "memory/fusion/source.h"

namespace plimsoll::fusion {
namespace {

struct Tile {
  int64_t row, rows, column, columns;
};

Tile tile_of(const Fused& fused, int64_t number) {
  const int64_t across = pieces(fused.columns, fused.tile_columns);
  const int64_t row = number / across * fused.tile_rows;
  const int64_t column = number % across * fused.tile_columns;
  return {row, std::min(fused.tile_rows, fused.rows - row), column,
          std::min(fused.tile_columns, fused.columns - column)};
}

// The members' views, moved from tile to tile.
class Frame {
 public:
  Frame(const Fused& fused, const Call& call, std::byte* scratch) : fused_(fused) {
    for (const Member& member : fused.members)
      for (const auto* side : {&member.in, &member.out})
        for (const Slice& slice : *side) add(slice, call, scratch);
  }

  void run(const Tile& tile) {
    for (Moving& m : moving_) {
      const Slice& slice = *m.slice;
      View& view = views_[m.view];
      const int64_t width = slice.width ? slice.width : tile.columns;
      view.meta.shape = {tile.rows, width};
      if (slice.of == Slice::Of::scratch) continue;  // every tile has the same
      const int64_t first = tile.row * slice.row_step + tile.column * slice.column_step;
      view.data = m.base + first * size_of(slice.dtype);
    }
    const View* next = views_.data();
    for (const Member& member : fused_.members) {
      const std::span in(next, member.in.size()), out(next + in.size(), member.out.size());
      next += in.size() + out.size();
      member.op->cpu({in, out, member.attrs, {}, tile.row * fused_.columns + tile.column});
    }
  }

 private:
  struct Moving {
    const Slice* slice;
    size_t view;
    std::byte* base;
  };

  void add(const Slice& slice, const Call& call, std::byte* scratch) {
    const bool inside = slice.of == Slice::Of::scratch;
    const auto& given = slice.of == Slice::Of::input ? call.in : call.out;
    if (slice.whole) {
      views_.push_back(given[slice.number]);
      return;
    }
    std::byte* base =
        inside ? scratch + slice.number * fused_.slot_bytes : given[slice.number].as<std::byte>();
    moving_.push_back({&slice, views_.size(), base});
    views_.push_back({base, {{}, slice.dtype, Device::cpu}, {slice.row_step, slice.column_step}});
  }

  const Fused& fused_;
  std::vector<View> views_;  // inputs and outputs of each member in turn
  std::vector<Moving> moving_;
};

void run(const Call& call) {
  const auto& fused = call.attrs.as<Fused>();
  const int64_t tiles = fused.tiles();
  // A piece for a thread is as large as that of other kernels.
  const int64_t grain = grain_for(fused.tile_rows * fused.tile_columns);
  const auto run_piece = [&](int64_t begin, int64_t end, std::byte* scratch) {
    Frame frame(fused, call, scratch);
    for (int64_t tile = begin; tile < end; ++tile) frame.run(tile_of(fused, tile));
  };
  if (fused.slots == 0)
    parallel_for(tiles, grain, [&](int64_t begin, int64_t end) { run_piece(begin, end, nullptr); });
  else
    for_each_with_slot(pieces(tiles, grain), call.workspace, fused.slots * fused.slot_bytes,
                       [&](int64_t piece, std::byte* scratch) {
                         const int64_t begin = piece * grain;
                         run_piece(begin, std::min(tiles, begin + grain), scratch);
                       });
}

double flops(std::span<const Meta>, std::span<const Meta>, const Attrs& attrs) {
  return attrs.as<Fused>().flops;
}

}  // namespace

int64_t Fused::tiles() const { return pieces(rows, tile_rows) * pieces(columns, tile_columns); }

int64_t Fused::workspace() const {
  if (slots == 0) return sum_bytes;
  const int64_t grain = grain_for(tile_rows * tile_columns);
  return slots_bytes(pieces(tiles(), grain), slots * slot_bytes);
}

const OpDef& fused_op(const std::string& name, bool in_place) {
  static std::mutex mutex;
  static std::map<std::pair<std::string, bool>, OpDef> ops;
  const std::scoped_lock lock(mutex);
  const auto [entry, is_new] = ops.try_emplace({name, in_place});
  if (is_new)
    entry->second = {.name = entry->first.first.c_str(),
                     .infer = nullptr,  // instructions come from the pass alone
                     .cpu = run,
                     .cuda = run_generated,
                     .inplace = in_place ? 0 : -1,
                     .flops = flops};
  return entry->second;
}

bool is_fused(const Instruction& instruction) { return instruction.op->cpu == run; }

}  // namespace plimsoll::fusion
