#include "examples/measure/lanes.h"

#include <algorithm>
#include <unordered_map>

namespace plimsoll::examples {
namespace {

double seconds_of(const Instruction& exchange, const Link& link) {
  if (link.bytes_per_second <= 0) return 0;
  const auto n = static_cast<double>(link.ranks);
  const auto bytes = static_cast<double>(bytes_of(exchange.out[0].meta));
  return link.latency + (n - 1) / n * bytes / link.bytes_per_second;
}

}  // namespace

Lanes two_lanes(const Program& program, std::span<const double> seconds, const Link& link) {
  Lanes lanes;
  double now = 0, moved = 0;                // clocks of the two
  std::unordered_map<int, double> arrives;  // what is received into, by its buffer
  const auto wait = [&](double until) {
    lanes.exposed += std::max(0.0, until - now);
    now = std::max(now, until);
  };
  for (size_t i = 0; i < program.instructions.size(); ++i) {
    const Instruction& instruction = program.instructions[i];
    if (!instruction.op->collective) {
      lanes.computing += seconds[i];
      now += seconds[i];
    } else if (instruction.out.empty()) {
      wait(arrives[instruction.in[1].buffer]);
    } else {
      const double takes = seconds_of(instruction, link);
      lanes.communicating += takes;
      moved = std::max(moved, now) + takes;
      arrives[instruction.out[0].buffer] = moved;
      if (!instruction.op->collective->later) wait(moved);  // start and wait in one
    }
  }
  lanes.seconds = now;
  return lanes;
}

}  // namespace plimsoll::examples
