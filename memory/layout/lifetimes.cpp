#include "memory/layout/lifetimes.h"

namespace plimsoll {

std::vector<Lifetime> lifetimes(const Program& program) {
  std::vector<Lifetime> lives(program.buffers.size());
  const auto use = [&](const std::vector<Operand>& operands, int instant) {
    for (const Operand& operand : operands) {
      if (program.buffers[operand.buffer].kind != Buffer::Kind::temporary) continue;
      Lifetime& life = lives[operand.buffer];
      if (life.end == 0) life.begin = instant;
      life.end = instant + 1;
    }
  };
  const int n = static_cast<int>(program.instructions.size());
  for (int i = 0; i < n; ++i) {
    use(program.instructions[i].in, i);
    use(program.instructions[i].out, i);
  }
  use(program.results, n);
  return lives;
}

}  // namespace plimsoll
