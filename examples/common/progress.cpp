#include "examples/common/progress.h"

#include <unistd.h>

#include <cstdio>

#include "memory/pooled_allocator.h"

namespace plimsoll::examples {
namespace {

double mebibytes(int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

}  // namespace

Progress::Progress(std::string title, int64_t steps, std::string unit)
    : title_(std::move(title)),
      unit_(std::move(unit)),
      steps_(steps),
      terminal_(isatty(STDOUT_FILENO) != 0) {}

double Progress::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

void Progress::update(int64_t step, int64_t amount, const std::string& status) {
  const double now = seconds();
  const int64_t tenth = steps_ > 0 ? 10 * step / steps_ : 10;
  const bool due = terminal_ ? now - shown_at_ > 0.1 || step == steps_ : tenth > shown_tenth_;
  if (!due) return;
  shown_at_ = now;
  shown_tenth_ = tenth;
  const auto left =
      static_cast<int64_t>(now / static_cast<double>(step) * static_cast<double>(steps_ - step));
  std::printf("%s%s %5lld/%lld  %8.0f %s  %s  ETA %lld:%02lld%s", terminal_ ? "\r" : "",
              title_.c_str(), static_cast<long long>(step), static_cast<long long>(steps_),
              static_cast<double>(amount) / now, unit_.c_str(), status.c_str(),
              static_cast<long long>(left / 60), static_cast<long long>(left % 60),
              terminal_ ? "\x1b[K" : "\n");
  std::fflush(stdout);
}

void Progress::finish() {
  if (terminal_) std::printf("\n");
}

std::string memory_status(int64_t planned_bytes) {
  const MemoryStats stats = default_pool(Device::cpu)->stats();
  char text[96];
  int n = std::snprintf(text, sizeof text, "memory %.1f in use, %.1f peak", mebibytes(stats.in_use),
                        mebibytes(stats.peak.bytes));
  if (planned_bytes > 0)
    n += std::snprintf(text + n, sizeof text - static_cast<size_t>(n), ", %.1f planned",
                       mebibytes(planned_bytes));
  return std::string(text, static_cast<size_t>(n)) + " MiB";
}

}  // namespace plimsoll::examples
