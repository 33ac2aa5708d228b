// The table that Plan::print() shows.
#include <cstdio>

#include "memory/layout/plan.h"

namespace plimsoll {
namespace {

std::string row(const char* name, int64_t bytes, int64_t total) {
  char text[80];
  std::snprintf(text, sizeof text, "  %-18s %12.3f MiB %6.1f %%\n", name,
                static_cast<double>(bytes) / (1 << 20),
                total ? 100.0 * static_cast<double>(bytes) / static_cast<double>(total) : 0.0);
  return text;
}

}  // namespace

std::string Plan::text() const {
  std::string text = cat("plan: ", instructions, " instructions, ", buffers, " buffers, ", in_place,
                         " of them in place\n");
  for (int c = 0; c < kMemoryClasses; ++c)
    if (at_peak[c] > 0)
      text += row(name_of(static_cast<MemoryClass>(c)), at_peak[c], total_bytes());
  if (arena_bytes > lower_bound) text += row("gaps", arena_bytes - lower_bound, total_bytes());
  if (result_bytes > 0) text += row("results", result_bytes, total_bytes());
  text += row("total", total_bytes(), total_bytes());
  text += cat("  arena ", arena_bytes, " bytes, lower bound ", lower_bound, "; total ",
              total_bytes(), " bytes\n");
  if (peak_instruction >= 0)
    text += cat("  most is alive at instruction ", peak_instruction, " (", peak_op, ")\n");
  if (recompute.budget > 0) {
    const auto share = [&](double seconds) {
      char percent[32];
      std::snprintf(percent, sizeof percent, "%.1f %%",
                    recompute.step_seconds > 0 ? 100 * seconds / recompute.step_seconds : 0.0);
      return std::string(percent);
    };
    text += cat("  budget ", recompute.budget, " bytes: ", recompute.repetitions,
                " instructions run again and take ", share(recompute.repeated_seconds),
                " of a step's time, in any plan within it at least ",
                share(recompute.least_repeated_seconds), "; the step takes ",
                share(recompute.added_seconds), " longer\n");
  }
  return text;
}

void Plan::print() const { std::fputs(text().c_str(), stdout); }

}  // namespace plimsoll
