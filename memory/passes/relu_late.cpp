#include "memory/passes/relu_late.h"

#include <utility>

#include "memory/passes/uses.h"

namespace plimsoll {
namespace {

// The instructions of a pair, by number, and of its gradient where there is one.
struct Pair {
  int relu, pool, pool_grad = -1, relu_grad = -1;
};

// The pair whose pool is this instruction; its relu is -1 where there is none to be moved.
Pair pair_of(const Program& program, const Uses& uses, int pool) {
  constexpr Pair none{-1, -1};
  const auto& all = program.instructions;
  const ReluAfter* const with = all[pool].op->relu_after;
  if (!with || !with->suits(all[pool].attrs)) return none;
  const Operand &t = all[pool].in[0], &v = all[pool].out[0], &places = all[pool].out[1];
  if (bytes_of(v.meta) >= bytes_of(t.meta)) return none;
  Pair pair{uses.maker[t.buffer], pool};
  if (pair.relu < 0 || uses.is_result[t.buffer] || uses.is_result[places.buffer]) return none;
  const Instruction& relu = all[pair.relu];
  if (relu.op != with->relu || relu.out[0] != t) return none;
  for (const Uses::Read& read : uses.reads[t.buffer]) {
    if (read.instruction == pool) continue;
    if (all[read.instruction].op != with->relu_grad || pair.relu_grad >= 0) return none;
    pair.relu_grad = read.instruction;
  }
  if (pair.relu_grad < 0) return uses.reads[places.buffer].empty() ? pair : none;
  const Instruction& relu_grad = all[pair.relu_grad];
  pair.pool_grad = maker_for_one(uses, program, relu_grad.in[0]);
  if (pair.pool_grad < 0 || relu_grad.in[1] != t) return none;
  const Instruction& pool_grad = all[pair.pool_grad];
  if (pool_grad.op != with->grad || pool_grad.in[1] != places ||
      uses.reads[places.buffer].size() != 1)
    return none;
  return stays(program, uses, v.buffer, pool, pair.pool_grad) ? pair : none;
}

// Swaps what was found, with its gradient: q and dq lie in what t and dt had.
void move_relu(Program& program, const Pair& pair) {
  auto& all = program.instructions;
  const Operand x = all[pair.relu].in[0], t = all[pair.relu].out[0], v = all[pair.pool].out[0];
  const auto smaller = [&](int buffer) {
    program.buffers[buffer].bytes = program.buffers[v.buffer].bytes;
    Operand operand = v;
    operand.buffer = buffer;
    return operand;
  };
  std::swap(all[pair.relu], all[pair.pool]);
  Instruction &pool = all[pair.relu], &relu = all[pair.pool];
  pool.in[0] = x;
  pool.out[0] = relu.in[0] = smaller(t.buffer);
  relu.out[0] = v;
  if (pair.relu_grad < 0) return;
  const Operand dv = all[pair.pool_grad].in[0], dx = all[pair.relu_grad].out[0];
  const int dt = all[pair.relu_grad].in[0].buffer;
  std::swap(all[pair.pool_grad], all[pair.relu_grad]);
  Instruction &relu_grad = all[pair.pool_grad], &pool_grad = all[pair.relu_grad];
  relu_grad.in = {dv, v};
  relu_grad.out[0] = pool_grad.in[0] = smaller(dt);
  pool_grad.out[0] = dx;
}

}  // namespace

Program relu_late(Program program) {
  for (int i = 0; i < std::ssize(program.instructions); ++i)
    if (program.instructions[i].op->relu_after)
      if (const Pair pair = pair_of(program, Uses(program), i); pair.relu >= 0)
        move_relu(program, pair);
  return program;
}

}  // namespace plimsoll
