#include "memory/passes/fuse_relu.h"

#include <algorithm>

#include "memory/passes/uses.h"

namespace plimsoll {
namespace {

// Whether the gradient is that of this instruction, by the values that it takes from it.
bool is_gradient_of(const Instruction& grad, const Instruction& forward) {
  return std::all_of(grad.in.begin() + 1, grad.in.end(), [&](const Operand& operand) {
    return std::ranges::count(forward.in, operand) + std::ranges::count(forward.out, operand) > 0;
  });
}

// z = op(x), y = relu(z)
void fuse_forward(Program& program) {
  const Uses uses(program);
  std::vector<bool> gone(program.instructions.size());
  for (size_t i = 0; i < gone.size(); ++i) {
    const Instruction& relu = program.instructions[i];
    const int f = relu.in.empty() ? -1 : maker_for_one(uses, program, relu.in[0]);
    if (f < 0) continue;
    Instruction& forward = program.instructions[f];
    const WithRelu* const with = forward.op->with_relu;
    if (!with || forward.op != with->op || relu.op != with->relu) continue;
    if (forward.in[0].meta.dtype == DType::f64) continue;  // see the header
    forward.op = with->both;
    forward.out[0] = relu.out[0];
    gone[i] = true;
  }
  erase(program, gone);
}

// dz = relu_grad(dy, y), dx = grad(dz, ...), where y is what an instruction made that was fused.
void fuse_gradients(Program& program) {
  const Uses uses(program);
  std::vector<bool> gone(program.instructions.size());
  for (int g = 0; g < std::ssize(gone); ++g) {
    Instruction& grad = program.instructions[g];
    const WithRelu* const with = grad.op->with_relu;
    if (!with || grad.op != with->grad) continue;
    const int r = maker_for_one(uses, program, grad.in[0]);
    if (r < 0 || program.instructions[r].op != with->relu_grad) continue;
    const Operand &dy = program.instructions[r].in[0], &y = program.instructions[r].in[1];
    const int f = uses.maker[y.buffer];
    if (f < 0) continue;
    const Instruction& forward = program.instructions[f];
    if (forward.op != with->both || forward.out[0] != y || !is_gradient_of(grad, forward)) continue;
    if (!stays(program, uses, dy.buffer, r, g)) continue;
    const Operand& extra = forward.in[with->extra];
    const auto changes = [&](const Operand& in) { return !stays(program, uses, in.buffer, f, g); };
    if (changes(extra) || std::any_of(grad.in.begin() + 1, grad.in.end(), changes)) continue;
    grad.op = with->both_grad;
    grad.in[0] = dy;
    grad.in.push_back(extra);
    gone[r] = true;
  }
  erase(program, gone);
}

}  // namespace

Program fuse_relu(Program program) {
  fuse_forward(program);
  fuse_gradients(program);
  return program;
}

}  // namespace plimsoll
