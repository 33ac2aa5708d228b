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
  std::printf("%s%s %lld/%lld  %.0f %s  %s  ETA %lld:%02lld%s", terminal_ ? "\r" : "",
              title_.c_str(), static_cast<long long>(step), static_cast<long long>(steps_),
              static_cast<double>(amount) / now, unit_.c_str(), status.c_str(),
              static_cast<long long>(left / 60), static_cast<long long>(left % 60),
              terminal_ ? "\x1b[K" : "\n");
  std::fflush(stdout);
}

void Progress::finish() {
  if (terminal_) std::printf("\n");
}

std::string status_line(double loss, double accuracy, int64_t planned_bytes) {
  const MemoryStats stats = default_pool(Device::cpu)->stats();
  char text[128], acc[16] = "-", planned[24] = "";
  if (accuracy >= 0) std::snprintf(acc, sizeof acc, "%.3f", accuracy);
  if (planned_bytes > 0) std::snprintf(planned, sizeof planned, "/%.1f", mebibytes(planned_bytes));
  std::snprintf(text, sizeof text, "loss %.4g  acc %s  %.1f/%.1f%s MiB", loss, acc,
                mebibytes(stats.in_use), mebibytes(stats.peak.bytes), planned);
  return text;
}

}  // namespace plimsoll::examples
