#include "memory/passes/gathers.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace plimsoll {
namespace {

constexpr int kNever = std::numeric_limits<int>::max();

// Of each buffer: the instruction that makes it, and the first that writes into it in place.
struct Writers {
  explicit Writers(const Program& program)
      : maker(program.buffers.size(), kNever), changes(program.buffers.size(), kNever) {
    for (int i = static_cast<int>(program.instructions.size()); i-- > 0;) {
      const Instruction& instruction = program.instructions[i];
      for (const Operand& out : instruction.out) maker[out.buffer] = i;
      for (size_t k = 0; k < instruction.in.size(); ++k)
        if (has(instruction.op->mutates, static_cast<int>(k)))
          changes[instruction.in[k].buffer] = i;
    }
  }
  std::vector<int> maker, changes;
};

// Which instructions gather parameters, or make something of these and of what lies outside alone.
std::vector<bool> movable(const Program& program, const Writers& writers) {
  std::vector<bool> moves;
  for (const Instruction& instruction : program.instructions) {
    bool of_gathered = gathers_parameters(program, instruction);
    bool of_others = instruction.op->mutates || (instruction.op->collective && !of_gathered);
    for (const Operand& in : instruction.in) {
      const int maker = writers.maker[in.buffer];
      const bool made = maker != kNever && moves[maker];
      of_gathered = of_gathered || made;
      of_others = of_others || (!made && program.buffers[in.buffer].kind != Buffer::Kind::external);
    }
    for (const Operand& out : instruction.out)
      of_others = of_others || writers.changes[out.buffer] != kNever;
    moves.push_back(of_gathered && !of_others);
  }
  return moves;
}

// The last instruction that needs what each movable one makes, be it through others like it.
std::vector<int> last_needs(const Program& program, const Writers& writers,
                            const std::vector<bool>& moves) {
  const int n = static_cast<int>(moves.size());
  std::vector<int> last(moves.size(), -1);
  const auto need = [&](const Operand& in, int by) {
    if (const int maker = writers.maker[in.buffer]; maker != kNever)
      last[maker] = std::max(last[maker], by);
  };
  for (const Operand& result : program.results) need(result, n);
  for (int i = n; i-- > 0;)
    for (const Operand& in : program.instructions[i].in) need(in, moves[i] ? last[i] : i);
  return last;
}

// Those whose parts stay what they are until nobody needs them any more.
std::vector<bool> safely_movable(const Program& program, const Writers& writers) {
  std::vector<bool> moves = movable(program, writers);
  const std::vector<int> last = last_needs(program, writers, moves);
  for (size_t i = 0; i < moves.size(); ++i)
    for (const Operand& in : program.instructions[i].in) {
      const int maker = writers.maker[in.buffer];
      if (writers.changes[in.buffer] <= last[i] || (maker != kNever && !moves[maker]))
        moves[i] = false;
    }
  return moves;
}

class Rewriter {
 public:
  Rewriter(Program program, int kept)
      : program_(std::move(program)),
        writers_(program_),
        moves_(safely_movable(program_, writers_)),
        kept_(kept),
        made_(program_.buffers.size()) {}

  Program run() {
    if (std::ranges::none_of(moves_, [](bool moves) { return moves; })) return std::move(program_);
    const std::vector<Instruction> before = std::move(program_.instructions);
    program_.instructions.clear();
    before_ = &before;
    for (size_t i = 0; i < before.size(); ++i)
      if (!moves_[i]) add(before[i]);
    provide(program_.results);
    return std::move(program_);
  }

 private:
  struct Made {
    int buffer = -1;  // where it is now; -1: nowhere yet
    int used = 0;     // how many had been gathered when it was used last
  };

  void add(Instruction instruction) {
    provide(instruction.in);
    gathered_ += gathers_parameters(program_, instruction);
    program_.instructions.push_back(std::move(instruction));
  }

  // All that these look into is made where it is not there, and then used.
  void provide(std::vector<Operand>& operands) {
    for (Operand& operand : operands) {
      const int maker = writers_.maker[operand.buffer];
      if (maker == kNever || !moves_[maker]) continue;
      Made& made = made_[operand.buffer];
      if (made.buffer < 0 || gathered_ - made.used > kept_) make((*before_)[maker]);
      made.used = gathered_;
      operand.buffer = made.buffer;
    }
  }

  void make(Instruction maker) {
    for (Operand& out : maker.out) {
      int& buffer = made_[out.buffer].buffer;
      if (buffer >= 0) {
        program_.buffers.push_back(program_.buffers[buffer]);
        buffer = static_cast<int>(program_.buffers.size()) - 1;
      } else {
        buffer = out.buffer;
      }
      out.buffer = buffer;
    }
    add(std::move(maker));
  }

  Program program_;
  const Writers writers_;
  const std::vector<bool> moves_;
  const int kept_;
  const std::vector<Instruction>* before_ = nullptr;
  std::vector<Made> made_;  // of each buffer, by its number before
  int gathered_ = 0;
};

}  // namespace

Program gather_late(Program program) { return Rewriter(std::move(program), kNever).run(); }

Program gather_again(Program program) { return Rewriter(std::move(program), kGathersKept).run(); }

}  // namespace plimsoll
