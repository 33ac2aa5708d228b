#include "memory/passes/overlap_communication.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace plimsoll {
namespace {

// Who touches which bytes of a buffer.
struct Access {
  size_t instruction;
  int64_t begin, end;
  bool writes;
};

Access access(size_t instruction, const Operand& operand, bool writes) {
  if (!is_row_major(operand.meta.shape, operand.strides))
    return {instruction, 0, std::numeric_limits<int64_t>::max(), writes};
  const int64_t begin = operand.offset * size_of(operand.meta.dtype);
  return {instruction, begin, begin + bytes_of(operand.meta), writes};
}

bool has_halves(const Instruction& instruction) {
  return instruction.op->collective && instruction.op->collective->start;
}

bool must_follow(const Access& later, const Access& earlier) {
  return (later.writes || earlier.writes) && later.begin < earlier.end &&
         earlier.begin < later.end && later.instruction != earlier.instruction;
}

// The instructions that each one must come after: those that write what it touches, and those that
// touch what it writes.
std::vector<std::set<size_t>> dependencies(const Program& program) {
  std::vector<std::vector<Access>> accesses(program.buffers.size());
  std::vector<std::set<size_t>> before(program.instructions.size());
  for (size_t i = 0; i < before.size(); ++i) {
    const Instruction& instruction = program.instructions[i];
    const auto touch = [&](const Operand& operand, bool writes) {
      auto& of_buffer = accesses[static_cast<size_t>(operand.buffer)];
      const Access now = access(i, operand, writes);
      for (const Access& earlier : of_buffer)
        if (must_follow(now, earlier)) before[i].insert(earlier.instruction);
      of_buffer.push_back(now);
    };
    for (size_t k = 0; k < instruction.in.size(); ++k)
      touch(instruction.in[k], has(instruction.op->mutates, static_cast<int>(k)));
    for (const Operand& out : instruction.out) touch(out, true);
  }
  return before;
}

class Order {
 public:
  explicit Order(Program program)
      : program_(std::move(program)),
        before_(dependencies(program_)),
        after_(before_.size()),
        follows_(before_.size()),
        missing_(before_.size()),
        asked_for_(before_.size()),
        made_(before_.size()),
        next_gather_(before_.size()),
        tickets_(before_.size()) {
    for (const Instruction& instruction : program_.instructions)
      for (size_t k = 0; k < instruction.in.size(); ++k)
        if (has(instruction.op->mutates, static_cast<int>(k)))
          written_in_place_.insert(instruction.in[k].buffer);
    for (size_t i = 0; i < before_.size(); ++i) {
      missing_[i] = before_[i].size();
      follows_[i] = sends_sums(i);
      for (const size_t earlier : before_[i]) {
        after_[earlier].push_back(i);
        follows_[i] = follows_[i] || follows_[earlier];
      }
    }
    size_t last_gather = before_.size();
    for (size_t i = 0; i < before_.size(); ++i) {
      asked_for_[i] = is_asked_for(i);
      if (!can_start(i) || !gathers_parameters(program_, instruction(i)) || !before_[i].empty())
        continue;
      if (last_gather < i) next_gather_[last_gather] = i;
      last_gather = i;
    }
  }

  Program run() {
    for (size_t i = 0; i < before_.size(); ++i)
      if (asked_for_[i]) release(i);
    for (size_t i = 0; i < before_.size(); ++i) {
      if (follows_[i] || asked_for_[i]) continue;
      if (!made_[i]) emit(i);
      release(i);
      if (ready_.empty()) continue;
      // What starts now gives the turn to what was started before.
      std::deque<size_t> due;
      due.swap(in_flight_);
      emit_ready();
      if (in_flight_.empty()) {
        due.swap(in_flight_);
        continue;
      }
      for (const size_t exchange : due) release(exchange);
      emit_ready();
    }
    for (; !in_flight_.empty(); emit_ready()) {
      const size_t exchange = in_flight_.front();
      in_flight_.pop_front();
      release(exchange);
    }
    for (size_t i = 0; i < before_.size(); ++i) wait_for(i);
    program_.instructions = std::move(order_);
    return std::move(program_);
  }

 private:
  const Instruction& instruction(size_t i) const { return program_.instructions[i]; }

  bool can_start(size_t i) const { return has_halves(instruction(i)); }

  bool sends_sums(size_t i) const {
    if (!can_start(i)) return false;
    return written_in_place_.contains(instruction(i).in[0].buffer) && !before_[i].empty();
  }

  // What is made of nothing, such as a constant, and only for what follows, is made for the first
  // of them.
  bool is_asked_for(size_t i) const {
    return !follows_[i] && before_[i].empty() && !instruction(i).op->mutates &&
           !instruction(i).op->collective && !after_[i].empty() &&
           std::ranges::all_of(after_[i], [&](size_t later) { return follows_[later]; });
  }

  // i is done, or so far on its way that its turn has come.
  void release(size_t i) {
    for (const size_t later : after_[i])
      if (--missing_[later] == 0 && follows_[later]) ready_.insert(later);
  }

  void emit_ready() {
    while (!ready_.empty()) {
      const size_t i = *ready_.begin();
      ready_.erase(ready_.begin());
      emit(i);
      if (can_start(i))
        in_flight_.push_back(i);
      else
        release(i);
    }
  }

  void emit(size_t i) {
    made_[i] = true;
    for (const size_t earlier : before_[i]) {
      if (asked_for_[earlier] && !made_[earlier]) emit(earlier);
      wait_for(earlier);
    }
    if (!can_start(i)) {
      order_.push_back(instruction(i));
      return;
    }
    const Meta meta{{1}, DType::i64, program_.device};
    const Operand ticket{static_cast<int>(program_.buffers.size()), meta, row_major(meta.shape)};
    program_.buffers.push_back({.bytes = bytes_of(meta), .memory_class = MemoryClass::workspace});
    Instruction start = instruction(i);
    start.op = start.op->collective->start;
    start.out.push_back(ticket);
    tickets_[i] = ticket;
    order_.push_back(std::move(start));
  }

  // Nothing where i is no exchange, has not started, or was waited for.
  void wait_for(size_t i) {
    const Operand ticket = std::exchange(tickets_[i], Operand());
    if (ticket.buffer < 0) return;
    Instruction wait = instruction(i);
    wait.op = wait.op->collective->wait;
    wait.in.push_back(wait.out[0]);
    wait.in.push_back(ticket);
    wait.out.clear();
    order_.push_back(std::move(wait));
    if (const auto next = next_gather_[i]; next && !made_[*next]) emit(*next);
  }

  Program program_;
  std::vector<std::set<size_t>> before_;            // of each instruction
  std::vector<std::vector<size_t>> after_;          // the same from the other side
  std::vector<bool> follows_;                       // is an exchange of sums, or depends on one
  std::vector<size_t> missing_;                     // how many before it are not done
  std::vector<bool> asked_for_;                     // is made where the first asks for it
  std::vector<bool> made_;                          // is in the new order
  std::vector<std::optional<size_t>> next_gather_;  // of parameters, behind each of them
  std::set<int> written_in_place_;                  // buffers
  std::vector<Operand> tickets_;                    // of exchanges that were started
  std::set<size_t> ready_;                          // of what follows, in the order of the program
  std::deque<size_t> in_flight_;  // of exchanges of sums, in the order of their start
  std::vector<Instruction> order_;
};

}  // namespace

bool exchanges(const Program& program) {
  return std::ranges::any_of(program.instructions, has_halves);
}

Program overlap_communication(Program program) {
  if (!exchanges(program)) return program;
  return Order(std::move(program)).run();
}

}  // namespace plimsoll
