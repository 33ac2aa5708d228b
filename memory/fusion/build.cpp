#include "memory/fusion/build.h"

#include <algorithm>
#include <map>

#include "core/operands.h"
#include "memory/fusion/source.h"

namespace plimsoll::fusion {
namespace {

// A place for values of the group that follow each other: each is written over the one before, as
// its op allows. The last may be an output; where none is, the place is in scratch.
struct Home {
  int head = 0, last = 0;  // members: that writes here first, that reads here last
  int output = -1;         // buffer
  int slot = -1;
};

// A value that a member makes.
struct Value {
  Operand operand;
  int home = 0;
  int last_read = -1;  // by a member
  bool leaves = false;
  bool is_sum = false;  // over the rows: all of them have the same
};

class Builder {
 public:
  Builder(const Program& program, const std::vector<int>& last_use, const Group& group)
      : program_(program), last_use_(last_use), group_(group) {
    fused_.columns = group.grid.row();
    fused_.rows = group.grid.elements / fused_.columns;
    const TileSize tile = on_gpu() ? TileSize{fused_.rows, fused_.columns}
                                   : tile_size(fused_.rows, fused_.columns, group.grid.whole_rows);
    fused_.tile_rows = tile.rows;
    fused_.tile_columns = tile.columns;
    note_values();
    choose_homes();
    collect_operands();
  }

  Instruction build() {
    const auto [input, output] = in_place_pair();
    if (input > 0) std::swap(in_[0], in_[static_cast<size_t>(input)]);
    if (output > 0) std::swap(out_[0], out_[static_cast<size_t>(output)]);
    give_slots();
    if (on_gpu()) fused_.slots = fused_.slot_bytes = 0;  // their numbers name registers there
    fused_.inputs = static_cast<int>(in_.size());
    std::string name;
    for (int m = 0; m < size(); ++m) {
      const Instruction& instruction = member(m);
      name += cat(m ? "+" : "", instruction.op->name);
      Member made{.op = instruction.op, .attrs = instruction.attrs};
      for (size_t k = 0; k < instruction.in.size(); ++k)
        made.in.push_back(slice_in(instruction, k));
      for (const Operand& out : instruction.out) made.out.push_back(slice_value(out));
      fused_.members.push_back(std::move(made));
      fused_.flops += flops_of(instruction);
      if (sums_columns(*instruction.op)) fused_.sum_bytes = instruction.workspace;
    }
    if (on_gpu()) add_kernel(fused_);
    const int64_t workspace = fused_.workspace();
    return {&fused_op(name, input >= 0), std::move(fused_), in_, out_, workspace};
  }

 private:
  bool on_gpu() const { return program_.device == Device::cuda; }
  int size() const { return static_cast<int>(group_.members.size()); }
  const Instruction& member(int m) const {
    return program_.instructions[group_.members[static_cast<size_t>(m)]];
  }
  bool is_full(const Operand& operand) const {
    return count(operand.meta.shape) == group_.grid.elements;
  }

  void note_values() {
    for (int m = 0; m < size(); ++m) {
      for (const Operand& in : member(m).in)
        if (const auto made = values_.find(in.buffer); made != values_.end())
          made->second.last_read = m;
      for (const Operand& out : member(m).out)
        values_[out.buffer] = {
            .operand = out,
            .is_sum = sums_columns(*member(m).op) && out.buffer != member(m).out[0].buffer};
    }
    for (auto& [buffer, value] : values_) value.leaves = last_use_[buffer] > group_.members.back();
  }

  // The value that member m may write its first output over; -1: none.
  int overwritten(int m) const {
    const Instruction& instruction = member(m);
    const int k = instruction.op->inplace;
    if (k < 0 || k >= std::ssize(instruction.in) || has(instruction.op->whole, k)) return -1;
    const int buffer = instruction.in[static_cast<size_t>(k)].buffer;
    const auto made = values_.find(buffer);
    if (made == values_.end() || made->second.leaves || made->second.last_read != m) return -1;
    const Operand &from = made->second.operand, &to = instruction.out[0];
    const bool once = std::ranges::count(instruction.in, buffer, &Operand::buffer) == 1;
    return once && count(from.meta.shape) == count(to.meta.shape) &&
                   size_of(from.meta.dtype) == size_of(to.meta.dtype)
               ? buffer
               : -1;
  }

  void choose_homes() {
    for (int m = 0; m < size(); ++m)
      for (const Operand& out : member(m).out) {
        Value& value = values_.at(out.buffer);
        const int over = &out == &member(m).out[0] ? overwritten(m) : -1;
        if (over >= 0) {
          value.home = values_.at(over).home;
        } else {
          value.home = static_cast<int>(homes_.size());
          homes_.push_back({.head = m});
        }
        Home& home = homes_[static_cast<size_t>(value.home)];
        home.last = std::max(m, value.last_read);
        if (value.leaves) home.output = out.buffer;
      }
  }

  void collect_operands() {
    for (int m = 0; m < size(); ++m) {
      for (const Operand& in : member(m).in)
        if (!values_.contains(in.buffer) && input_of(in) < 0) in_.push_back(in);
      for (const Operand& out : member(m).out)
        if (values_.at(out.buffer).leaves) out_.push_back(out);
    }
  }

  // Among the inputs of the fused instruction; -1: not there.
  int input_of(const Operand& operand) const {
    const auto found = std::ranges::find(in_, operand);
    return found == in_.end() ? -1 : static_cast<int>(found - in_.begin());
  }

  // Whether the home's first writer can write over this input: nobody reads it later, and the
  // writer itself only as its op allows.
  bool may_lie_on(const Home& home, const Operand& input) const {
    const Operand& output = values_.at(home.output).operand;
    const Buffer& buffer = program_.buffers[input.buffer];
    if (buffer.kind != Buffer::Kind::temporary || !is_full(input) || !is_full(output) ||
        input.offset != 0 || !is_dense(input) || bytes_of(input.meta) != buffer.bytes ||
        bytes_of(output.meta) != buffer.bytes ||
        size_of(input.meta.dtype) != size_of(output.meta.dtype) ||
        std::ranges::count(in_, input.buffer, &Operand::buffer) != 1)
      return false;
    for (int m = home.head; m < size(); ++m) {
      const Instruction& instruction = member(m);
      const bool writes =
          m == home.head && values_.at(instruction.out[0].buffer).home == home_of(home);
      for (int k = 0; k < std::ssize(instruction.in); ++k)
        if (instruction.in[static_cast<size_t>(k)].buffer == input.buffer &&
            !(writes && k == instruction.op->inplace))
          return false;
    }
    return true;
  }
  int home_of(const Home& home) const { return static_cast<int>(&home - homes_.data()); }

  // An input and an output that may share their memory: {-1, -1} where none may. Best is an input
  // that nobody reads afterwards.
  std::pair<int, int> in_place_pair() const {
    std::pair<int, int> found{-1, -1};
    for (int o = 0; o < std::ssize(out_); ++o) {
      const Home& home = homes_[static_cast<size_t>(values_.at(out_[o].buffer).home)];
      for (int i = 0; i < std::ssize(in_); ++i) {
        if (!may_lie_on(home, in_[i])) continue;
        if (last_use_[in_[i].buffer] <= group_.members.back()) return {i, o};
        if (found.first < 0) found = {i, o};
      }
    }
    return found;
  }

  // A slot of scratch for each home without an output; those used one after another share one.
  void give_slots() {
    std::vector<int> busy_until;
    int64_t bytes = 0;
    for (auto& [buffer, value] : values_)
      if (homes_[static_cast<size_t>(value.home)].output < 0)
        bytes = std::max(bytes, size_of(value.operand.meta.dtype));
    for (Home& home : homes_) {  // in the order of their heads
      if (home.output >= 0) continue;
      const auto free = std::ranges::find_if(busy_until, [&](int m) { return m < home.head; });
      home.slot = static_cast<int>(free - busy_until.begin());
      if (free == busy_until.end()) busy_until.push_back(0);
      busy_until[static_cast<size_t>(home.slot)] = home.last;
    }
    fused_.slots = std::ssize(busy_until);
    if (fused_.slots > 0)
      fused_.slot_bytes = block_bytes(fused_.tile_rows * fused_.tile_columns * bytes);
  }

  // Rows of as many elements as the operand has for each row of the matrix.
  void lay_out_rows(const Operand& operand, Slice& slice) const {
    slice.row_step = count(operand.meta.shape) / fused_.rows;
    slice.column_step = 1;
    slice.width = slice.row_step == fused_.columns ? 0 : slice.row_step;
  }

  Slice slice_value(const Operand& operand) const {
    const Value& value = values_.at(operand.buffer);
    const Home& home = homes_[static_cast<size_t>(value.home)];
    Slice slice{.dtype = operand.meta.dtype};
    if (value.is_sum)
      slice.column_step = 1;
    else
      lay_out_rows(operand, slice);
    if (home.output < 0) {
      slice.of = Slice::Of::scratch;
      slice.number = home.slot;
    } else {
      slice.of = Slice::Of::output;
      const auto out = std::ranges::find(out_, home.output, &Operand::buffer);
      slice.number = static_cast<int>(out - out_.begin());
    }
    return slice;
  }

  Slice slice_in(const Instruction& instruction, size_t k) const {
    const Operand& in = instruction.in[k];
    if (values_.contains(in.buffer)) return slice_value(in);
    Slice slice{.number = input_of(in), .dtype = in.meta.dtype};
    if (has(instruction.op->whole, static_cast<int>(k))) {
      slice.whole = true;
    } else if (is_over_rows(*instruction.op)) {
      lay_out_rows(in, slice);
    } else {
      using enum Layout::Kind;
      const Layout::Kind kind = layout_of(in, instruction.out[0].meta.shape).kind;
      slice.row_step = kind == full ? fused_.columns : kind == row;
      slice.column_step = kind == full || kind == column;
    }
    return slice;
  }

  static double flops_of(const Instruction& instruction) {
    if (!instruction.op->flops) return 0;
    const Metas in = metas_of(instruction.in), out = metas_of(instruction.out);
    return instruction.op->flops(in, out, instruction.attrs);
  }

  const Program& program_;
  const std::vector<int>& last_use_;
  const Group& group_;
  Fused fused_;
  std::map<int, Value> values_;  // by buffer
  std::vector<Home> homes_;
  std::vector<Operand> in_, out_;
};

// The last instruction that reads or writes each buffer; the number of instructions for a result.
std::vector<int> last_uses(const Program& program) {
  std::vector<int> last(program.buffers.size(), -1);
  const int n = static_cast<int>(program.instructions.size());
  for (int i = 0; i < n; ++i)
    for (const auto* side : {&program.instructions[i].in, &program.instructions[i].out})
      for (const Operand& operand : *side) last[operand.buffer] = i;
  for (const Operand& result : program.results) last[result.buffer] = n;
  return last;
}

}  // namespace

std::vector<Rewrite> build(const Program& program, std::span<const Group> groups) {
  const std::vector<int> last_use = last_uses(program);
  std::vector<Rewrite> built;
  for (const Group& group : groups)
    built.push_back(
        {group.members, group.members.back(), Builder(program, last_use, group).build()});
  return built;
}

}  // namespace plimsoll::fusion
