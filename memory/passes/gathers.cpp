#include "memory/passes/gathers.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "memory/passes/uses.h"

namespace plimsoll {
namespace {

constexpr int kNever = std::numeric_limits<int>::max();

// Which instructions gather parameters, or make something of these and of what lies outside alone.
std::vector<bool> movable(const Program& program, const Uses& uses) {
  std::vector<bool> moves;
  for (const Instruction& instruction : program.instructions) {
    bool of_gathered = gathers_parameters(program, instruction);
    bool of_others = instruction.op->mutates || (instruction.op->collective && !of_gathered);
    for (const Operand& in : instruction.in) {
      const int maker = uses.maker[in.buffer];
      const bool made = maker >= 0 && moves[maker];
      of_gathered = of_gathered || made;
      of_others = of_others || (!made && program.buffers[in.buffer].kind != Buffer::Kind::external);
    }
    for (const Operand& out : instruction.out)
      of_others = of_others || !stays(program, uses, out.buffer, -1, kNever);
    moves.push_back(of_gathered && !of_others);
  }
  return moves;
}

// The last instruction that needs what each movable one makes, be it through others like it.
std::vector<int> last_needs(const Program& program, const Uses& uses,
                            const std::vector<bool>& moves) {
  const int n = static_cast<int>(moves.size());
  std::vector<int> last(moves.size(), -1);
  const auto need = [&](const Operand& in, int by) {
    if (const int maker = uses.maker[in.buffer]; maker >= 0)
      last[maker] = std::max(last[maker], by);
  };
  for (const Operand& result : program.results) need(result, n);
  for (int i = n; i-- > 0;)
    for (const Operand& in : program.instructions[i].in) need(in, moves[i] ? last[i] : i);
  return last;
}

// Those whose parts stay what they are until nobody needs them any more.
std::vector<bool> safely_movable(const Program& program, const Uses& uses) {
  std::vector<bool> moves = movable(program, uses);
  const std::vector<int> last = last_needs(program, uses, moves);
  for (size_t i = 0; i < moves.size(); ++i)
    for (const Operand& in : program.instructions[i].in) {
      const int maker = uses.maker[in.buffer];
      if (!stays(program, uses, in.buffer, -1, last[i] + 1) || (maker >= 0 && !moves[maker]))
        moves[i] = false;
    }
  return moves;
}

class Rewriter {
 public:
  Rewriter(Program program, int kept)
      : program_(std::move(program)),
        uses_(program_),
        moves_(safely_movable(program_, uses_)),
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
      const int maker = uses_.maker[operand.buffer];
      if (maker < 0 || !moves_[maker]) continue;
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
  const Uses uses_;
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
