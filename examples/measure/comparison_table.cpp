#include "examples/measure/comparison_table.h"

#include <cstdio>

#include "examples/common/options.h"

namespace plimsoll::examples {
namespace {

std::string saving(const Case& c) {
  if (c.checkpoint) return "checkpoint";
  return c.share == 0 ? "none" : c.share == kSmallest ? "smallest" : cat("to ", c.share, " %");
}

const char* mode(const Case& c) { return c.captured ? "captured" : "eager"; }

}  // namespace

std::string cell(int64_t bytes, int width, bool known) {
  char text[32];
  if (known)
    std::snprintf(text, sizeof text, "%*.2f", width, static_cast<double>(bytes) / (1 << 20));
  else
    std::snprintf(text, sizeof text, "%*s", width, "-");
  return text;
}

Json to_json(const BytesByClass& bytes) {
  Json classes;
  for (int c = 0; c < kMemoryClasses; ++c)
    classes[name_of(static_cast<MemoryClass>(c))] = bytes[static_cast<size_t>(c)];
  return classes;
}

bool keeps_promises(const Line& line) {
  const Measured& row = line.row;
  if (row.refused) return true;
  const bool exact = !line.c.captured || row.planned_bytes == row.measured_bytes;
  const bool kept = row.budget_bytes == 0 || row.measured_bytes <= row.budget_bytes;
  return line.same_bits && exact && kept;
}

void print_head() {
  std::printf("%-8s %5s %-5s %-8s %-10s %9s %9s %9s %9s %-6s | %8s %8s %8s %8s %8s | %8s %5s %s\n",
              "model", "batch", "type", "mode", "saving", "planned", "measured", "at least",
              "process", "within", "params", "grads", "optim.", "activ.", "other", "ms/step",
              "time", "same bits");
}

void print_line(const Line& line) {
  const auto& [c, row, time, same_bits] = line;
  std::printf("%-8s %5lld %-5s %-8s %-10s ", c.model.c_str(), static_cast<long long>(c.batch),
              name_of(c.precision), mode(c), saving(c).c_str());
  if (row.refused) {
    std::printf("%s is less than any plan found\n", cell(row.budget_bytes, 9).c_str());
    return;
  }
  std::string text = cell(row.planned_bytes, 9, c.captured) + ' ' + cell(row.measured_bytes, 9) +
                     ' ' + cell(row.lower_bound_bytes, 9, c.captured) + ' ' +
                     cell(row.process_bytes, 9, row.process_bytes > 0);
  text += row.process_bytes == 0 ? " -      |" : row.process_within() ? " yes    |" : " NO     |";
  const auto bytes = [&row = row](MemoryClass k) { return row.at_peak[static_cast<size_t>(k)]; };
  for (const int64_t held :
       {bytes(MemoryClass::parameter), bytes(MemoryClass::gradient), bytes(MemoryClass::optimizer),
        bytes(MemoryClass::activation), bytes(MemoryClass::workspace) + bytes(MemoryClass::input)})
    text += ' ' + cell(held, 8);
  std::printf("%s | %8.2f %5.2f %s\n", text.c_str(), row.ms_per_step, time,
              same_bits ? "yes" : "NO");
  std::fflush(stdout);
}

void print_failed(const Case& c, const std::string& why) {
  std::printf("%-8s %5lld %-5s %-8s %-10s failed: %s\n", c.model.c_str(),
              static_cast<long long>(c.batch), name_of(c.precision), mode(c), saving(c).c_str(),
              why.c_str());
  std::fflush(stdout);
}

Json to_json(const Line& line) {
  const auto& [c, row, time, same_bits] = line;
  const auto known = [](bool is_known, int64_t bytes) { return is_known ? Json(bytes) : Json(); };
  const auto ran = [&](const Json& figure) { return line.row.refused ? Json() : figure; };
  return {{"model", c.model},
          {"batch", c.batch},
          {"precision", name_of(c.precision)},
          {"mode", mode(c)},
          {"saving", saving(c)},
          {"checkpoint", c.checkpoint},
          {"budget_bytes", known(row.budget_bytes > 0, row.budget_bytes)},
          {"refused", row.refused},
          {"planned_bytes", known(c.captured, row.planned_bytes)},
          {"measured_bytes", row.measured_bytes},
          {"lower_bound_bytes", known(c.captured, row.lower_bound_bytes)},
          {"process_bytes", known(row.process_bytes > 0, row.process_bytes)},
          {"process_within", row.process_bytes > 0 ? Json(row.process_within()) : Json()},
          {"at_peak_bytes", to_json(row.at_peak)},
          {"ms_per_step", ran(row.ms_per_step)},
          {"time_ratio", ran(time)},
          {"loss", ran(row.loss)},
          {"gradient_digest", ran(cat(row.digest))},
          {"same_bits", ran(same_bits)}};
}

}  // namespace plimsoll::examples
