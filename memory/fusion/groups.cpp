#include "memory/fusion/groups.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "core/column_sums.h"
#include "core/operands.h"
#include "core/row_threads.h"
#include "memory/fusion/fused.h"

namespace plimsoll::fusion {
namespace {

bool is_whole(const OpDef& op, size_t input) { return has(op.whole, static_cast<int>(input)); }

// Both, where they agree and, on the CPU, there are tiles for them.
std::optional<Grid> meet(const Grid& a, const Grid& b, Device device) {
  if (a.elements != b.elements) return {};
  if (a.columns && b.columns && a.columns != b.columns) return {};
  const Grid both{a.elements, std::max(a.columns, b.columns), a.whole_rows || b.whole_rows};
  if (device == Device::cpu &&
      tile_size(both.elements / both.row(), both.row(), both.whole_rows).rows == 0)
    return {};
  return both;
}

std::optional<Grid> grid_of_elements(const Instruction& instruction) {
  const Shape& shape = instruction.out[0].meta.shape;
  std::optional<Grid> grid = Grid{.elements = count(shape)};
  for (const Operand& out : instruction.out)
    if (out.meta.shape != shape) return {};
  for (size_t k = 0; k < instruction.in.size() && grid; ++k) {
    if (is_whole(*instruction.op, k)) continue;
    const Layout layout = layout_of(instruction.in[k], shape);
    if (layout.kind == Layout::Kind::other) return {};
    grid = meet(*grid, {grid->elements, layout.columns}, instruction.out[0].meta.device);
  }
  return grid;
}

// Inputs and outputs have so many elements for each row of the first output.
std::optional<Grid> grid_of_rows(const Instruction& instruction) {
  const Shape& shape = instruction.out[0].meta.shape;
  if (shape.rank() == 0) return {};
  const Grid grid{count(shape), shape.back(), true};
  const int64_t rows = grid.elements / grid.columns;
  for (size_t k = 0; k < instruction.in.size(); ++k)
    if (const Operand& in = instruction.in[k]; !is_whole(*instruction.op, k))
      if (!is_dense(in) || count(in.meta.shape) % rows != 0) return {};
  for (const Operand& out : instruction.out) {
    const int64_t n = count(out.meta.shape);
    const bool sum = sums_columns(*instruction.op) && &out != instruction.out.data();
    if (sum ? n != grid.columns : n % rows != 0 || n > grid.elements) return {};
  }
  return grid;
}

// Whether there is a kernel that can run it together with others.
bool can_join(const Instruction& instruction, Device device) {
  const OpDef& op = *instruction.op;
  if (device == Device::cpu) return op.tiling != Tiling::none && op.cpu;
  // Calls of an op that joins go together in one launch already, which saves more.
  if (device != Device::cuda || !op.code || op.joins) return false;
  if (op.tiling == Tiling::elements || instruction.out.empty()) return true;
  const Meta& y = instruction.out[0].meta;  // a row, which a block holds; f64 falls to it otherwise
  if (y.dtype == DType::f64 || y.shape.rank() == 0) return false;
  const int64_t columns = y.shape.back();
  if (sums_columns(op)) return columns <= kMostSummedColumns && columns % kRowPack == 0;
  return columns <= kMostHeldColumns;
}

// Nothing: it has to run by itself.
std::optional<Grid> grid_of(const Instruction& instruction, Device device, Fusion passes) {
  const OpDef& op = *instruction.op;
  if (!can_join(instruction, device) || op.mutates) return {};
  if (instruction.workspace > 0 && !sums_columns(op)) return {};
  if (instruction.out.empty() || count(instruction.out[0].meta.shape) == 0) return {};
  const bool rows = is_over_rows(op);
  if (rows && !passes.rows) return {};
  const std::optional<Grid> grid = rows ? grid_of_rows(instruction) : grid_of_elements(instruction);
  return grid ? meet(*grid, *grid, device) : grid;  // whether there are tiles for it
}

class Finder {
 public:
  Finder(const Program& program, Fusion passes)
      : program_(program),
        maker_(program.buffers.size(), -1),
        readers_(program.buffers.size()),
        writers_(program.buffers.size()) {
    for (int i = 0; i < std::ssize(program.instructions); ++i) {
      const Instruction& instruction = program.instructions[i];
      for (size_t k = 0; k < instruction.in.size(); ++k) {
        const bool writes = has(instruction.op->mutates, static_cast<int>(k));
        (writes ? writers_ : readers_)[instruction.in[k].buffer].push_back(i);
      }
      for (const Operand& out : instruction.out) maker_[out.buffer] = i;
      const std::optional<Grid> grid = grid_of(instruction, program.device, passes);
      groups_.push_back(grid ? Group{*grid, {i}} : Group{});
    }
    group_of_.resize(groups_.size());
    std::iota(group_of_.begin(), group_of_.end(), 0);
    for (int i = 0; i < std::ssize(groups_); ++i)
      if (!groups_[i].members.empty()) join_makers(i);
  }

  std::vector<Group> groups(Fusion passes, size_t least_members) const {
    std::vector<Group> found;
    for (const Group& group : groups_)
      if (group.members.size() >= std::max<size_t>(1, least_members) &&
          (group.grid.whole_rows ? passes.rows : passes.elements))
        found.push_back(group);
    return found;
  }

 private:
  // Instruction i, the last so far, joins those that make what it reads.
  void join_makers(int i) {
    for (const Operand& in : program_.instructions[i].in) {
      const int maker = maker_[in.buffer];
      if (maker < 0 || groups_[group_of_[maker]].members.empty() ||
          group_of_[maker] == group_of_[i])
        continue;
      Group& from = groups_[group_of_[maker]];
      Group& to = groups_[i];  // the group with the last member has its number
      std::optional<Grid> grid = meet(from.grid, to.grid, program_.device);
      if (!grid || from.members.size() + to.members.size() > kMostMembers) continue;
      if (has_sums(from) && has_sums(to)) continue;
      Group both{*grid, {}};
      std::ranges::merge(from.members, to.members, std::back_inserter(both.members));
      if (!flows(both) || !can_wait(both)) continue;
      from = {};
      for (const int member : both.members) group_of_[member] = i;
      to = std::move(both);
    }
  }

  bool has_sums(const Group& group) const {
    return std::ranges::any_of(group.members,
                               [&](int m) { return sums_columns(*program_.instructions[m].op); });
  }

  static bool is_in(const Group& group, int instruction) {
    return std::ranges::binary_search(group.members, instruction);
  }

  // What members make is read by members tile by tile.
  bool flows(const Group& group) const {
    for (const int m : group.members) {
      const Instruction& reader = program_.instructions[m];
      for (size_t k = 0; k < reader.in.size(); ++k) {
        const Operand& in = reader.in[k];
        const int maker = maker_[in.buffer];
        if (maker < 0 || !is_in(group, maker)) continue;
        const Operand& made =
            *std::ranges::find(program_.instructions[maker].out, in.buffer, &Operand::buffer);
        if (program_.device == Device::cuda &&
            in.buffer != program_.instructions[maker].out[0].buffer)
          return false;  // statistics of a row
        if (is_whole(*reader.op, k) || in.offset != 0 || !is_dense(in) ||
            in.meta.dtype != made.meta.dtype || count(in.meta.shape) != count(made.meta.shape))
          return false;
        if (reader.op->tiling == Tiling::elements && count(in.meta.shape) != group.grid.elements)
          return false;
      }
    }
    return true;
  }

  // Whether each member can run as late as the last one.
  bool can_wait(const Group& group) const {
    const int last = group.members.back();
    const auto between = [&](const std::vector<int>& instructions, int member) {
      return std::ranges::any_of(instructions,
                                 [&](int i) { return member < i && i < last && !is_in(group, i); });
    };
    for (const int m : group.members) {
      const Instruction& instruction = program_.instructions[m];
      for (const Operand& in : instruction.in)
        if (between(writers_[in.buffer], m)) return false;
      for (const Operand& out : instruction.out)
        if (between(readers_[out.buffer], m) || between(writers_[out.buffer], m)) return false;
    }
    return true;
  }

  const Program& program_;
  std::vector<int> maker_;                           // of each buffer; -1: it comes from outside
  std::vector<std::vector<int>> readers_, writers_;  // in place, of each buffer
  std::vector<Group> groups_;                        // at the number of their last member, or empty
  std::vector<int> group_of_;                        // of each instruction
};

}  // namespace

std::vector<Group> find_groups(const Program& program, Fusion passes, size_t least_members) {
  return Finder(program, passes).groups(passes, least_members);
}

}  // namespace plimsoll::fusion
