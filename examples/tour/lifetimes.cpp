// Chapter 5: the lifetimes of a net of four layers, drawn as bars, and what takes over whose
// memory.
#include "memory/layout/lifetimes.h"

#include <cstdio>

#include "examples/tour/net.h"
#include "examples/tour/tour.h"
#include "memory/layout/offsets.h"
#include "memory/step/passes.h"

namespace plimsoll::tour {
namespace {

// The op that makes each buffer.
std::vector<const char*> makers(const Program& program) {
  std::vector<const char*> names(program.buffers.size(), "");
  for (const Instruction& instruction : program.instructions)
    for (const Operand& out : instruction.out) names[out.buffer] = instruction.op->name;
  return names;
}

int64_t most_alive(const Program& program, const std::vector<Lifetime>& lives) {
  std::vector<Box> boxes;
  for (size_t b = 0; b < lives.size(); ++b)
    if (lives[b].begin < lives[b].end)
      boxes.push_back({block_bytes(program.buffers[b].bytes), lives[b].begin, lives[b].end});
  return live_peak(boxes).bytes;
}

int64_t sum_of_all(const Program& program) {
  int64_t bytes = 0;
  for (const Buffer& buffer : program.buffers)
    if (buffer.kind == Buffer::Kind::temporary) bytes += block_bytes(buffer.bytes);
  return bytes;
}

}  // namespace

void print_lifetimes() {
  Training training({.layers = 4});
  const Program captured = capture_live(training.function(), inputs_of(1024));
  const Program program = plan_step(captured, {}).program;  // updates early
  const std::vector<Lifetime> apart = lifetimes(program);
  std::vector<Lifetime> lives = apart;
  const std::vector<int> root = fold_in_place(program, lives);

  const std::vector<const char*> maker = makers(program);
  std::printf("buffer made by                KiB  instructions 0 to %zu\n",
              program.instructions.size());
  for (size_t b = 0; b < lives.size(); ++b) {
    if (lives[b].begin >= lives[b].end || program.buffers[b].bytes < 4096) continue;
    std::string bar(program.instructions.size() + 1, '.');
    for (int i = lives[b].begin; i < lives[b].end; ++i) bar[static_cast<size_t>(i)] = '#';
    const bool over = root[b] != static_cast<int>(b);
    std::printf("t%-5zu %-19s %7.0f  %s%s\n", b, maker[b], kib(program.buffers[b].bytes),
                bar.c_str(), over ? cat(" over t", root[b]).c_str() : "");
  }
  std::printf("\neach value in memory of its own   %8.1f KiB\n", kib(sum_of_all(program)));
  std::printf("freed after the last use           %8.1f KiB\n",
              kib(most_alive(captured, lifetimes(captured))));
  std::printf("and updates early                  %8.1f KiB\n", kib(most_alive(program, apart)));
  std::printf("and in place                       %8.1f KiB\n", kib(most_alive(program, lives)));
}

}  // namespace plimsoll::tour
