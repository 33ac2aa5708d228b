#include "memory/passes/early_update.h"

#include <algorithm>
#include <vector>

namespace plimsoll {
namespace {

// The last places so far at which a buffer was written and read; -1: nowhere.
struct Touched {
  int written = -1, read = -1;
};

bool writes(const Instruction& instruction, size_t input) {
  return has(instruction.op->mutates, static_cast<int>(input));
}

// An update waits for a gradient. What waits for nothing, such as a step counter, saves nothing by
// going early: it only makes way for the updates that read it.
bool is_update(const Program& program, const Instruction& instruction) {
  if (!instruction.op->mutates) return false;
  for (size_t k = 0; k < instruction.in.size(); ++k)
    if (!writes(instruction, k) &&
        program.buffers[instruction.in[k].buffer].kind == Buffer::Kind::temporary)
      return true;
  return false;
}

// Which instructions move: those that write in place, and those that make of nothing what these
// write into, as a sum begins with zeros.
std::vector<bool> moving(const Program& program) {
  std::vector<bool> written(program.buffers.size());
  for (const Instruction& instruction : program.instructions)
    for (size_t k = 0; k < instruction.in.size(); ++k)
      if (writes(instruction, k)) written[instruction.in[k].buffer] = true;
  std::vector<bool> moves;
  for (const Instruction& instruction : program.instructions)
    moves.push_back(instruction.op->mutates ||
                    (instruction.in.empty() && instruction.out.size() == 1 &&
                     written[instruction.out[0].buffer]));
  return moves;
}

// After which instruction each one can run at the earliest; those that stay have their own number.
std::vector<int> earliest_places(const Program& program, const std::vector<bool>& moves) {
  std::vector<Touched> touched(program.buffers.size());
  std::vector<int> places;
  for (int i = 0; i < std::ssize(program.instructions); ++i) {
    const Instruction& instruction = program.instructions[i];
    int earliest = -1;
    for (size_t k = 0; k < instruction.in.size(); ++k) {
      const Touched& last = touched[instruction.in[k].buffer];
      earliest = std::max(earliest, last.written);
      if (writes(instruction, k)) earliest = std::max(earliest, last.read);
    }
    places.push_back(moves[i] ? earliest : i);
    for (size_t k = 0; k < instruction.in.size(); ++k) {
      Touched& last = touched[instruction.in[k].buffer];
      int& moment = writes(instruction, k) ? last.written : last.read;
      moment = std::max(moment, places[i]);
    }
    for (const Operand& out : instruction.out) touched[out.buffer].written = places[i];
  }
  return places;
}

// What is no update runs right before the first instruction that needs it done, or stays.
void hold_back(const Program& program, const std::vector<bool>& moves, std::vector<int>& places) {
  const auto never = static_cast<int>(places.size());
  std::vector<int> touched(program.buffers.size(), never), written(touched);  // next, from behind
  for (int i = never; i-- > 0;) {
    const Instruction& instruction = program.instructions[i];
    if (moves[i] && !is_update(program, instruction)) {
      int latest = i;
      for (const Operand& out : instruction.out) latest = std::min(latest, touched[out.buffer]);
      for (size_t k = 0; k < instruction.in.size(); ++k) {
        const int buffer = instruction.in[k].buffer;
        latest = std::min(latest, writes(instruction, k) ? touched[buffer] : written[buffer]);
      }
      places[i] = std::max(places[i], latest);
    }
    // An instruction that stays needs it done one place before its own.
    const int place = moves[i] ? places[i] : i - 1;
    for (size_t k = 0; k < instruction.in.size(); ++k) {
      const int buffer = instruction.in[k].buffer;
      touched[buffer] = std::min(touched[buffer], place);
      if (writes(instruction, k)) written[buffer] = std::min(written[buffer], place);
    }
  }
}

}  // namespace

Program update_early(Program program) {
  const std::vector<bool> moves = moving(program);
  std::vector<int> places = earliest_places(program, moves);
  hold_back(program, moves, places);
  const size_t n = places.size();
  std::vector<std::vector<size_t>> after(n + 1);  // what runs after each; [0]: before all
  for (size_t i = 0; i < n; ++i)
    if (moves[i]) after[static_cast<size_t>(places[i] + 1)].push_back(i);
  std::vector<Instruction> order;
  const auto add = [&](size_t i) { order.push_back(std::move(program.instructions[i])); };
  for (const size_t moved : after[0]) add(moved);
  for (size_t i = 0; i < n; ++i) {
    if (!moves[i]) add(i);
    for (const size_t moved : after[i + 1]) add(moved);
  }
  program.instructions = std::move(order);
  return program;
}

}  // namespace plimsoll
