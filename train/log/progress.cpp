#include "train/log/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "core/base/text.h"

namespace plimsoll::train {
namespace {

// "80.4", "123".
std::string mebibytes(int64_t bytes) {
  const double value = static_cast<double>(bytes) / (1 << 20);
  char text[32];
  std::snprintf(text, sizeof text, value < 99.95 ? "%.1f" : "%.0f", value);
  return text;
}

// Of standard output, now: windows are resized.
int terminal_columns() {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

Progress::Progress(std::string title, int64_t steps, std::string unit, int64_t done)
    : title_(std::move(title)),
      unit_(std::move(unit)),
      rate_(done),
      steps_(steps),
      terminal_(isatty(STDOUT_FILENO) != 0) {}

double Progress::seconds() const {
  return std::chrono::duration<double>(Clock::now() - start_).count();
}

void Progress::update(int64_t step, int64_t amount, const std::string& status) {
  const double now = seconds();
  rate_.at(now, step, amount);
  const int64_t tenth = steps_ > 0 ? 10 * step / steps_ : 10;
  const bool due = terminal_ ? now - shown_at_ > 0.1 || step == steps_ : tenth > shown_tenth_;
  if (!due) return;
  shown_at_ = now;
  shown_tenth_ = tenth;
  const auto left = static_cast<int64_t>(rate_.seconds_for(steps_ - step));
  char rate[32], eta[32];
  std::snprintf(rate, sizeof rate, "%.0f", rate_.per_second());
  std::snprintf(eta, sizeof eta, "%lld:%02lld", static_cast<long long>(left / 60),
                static_cast<long long>(left % 60));
  const std::string line =
      cat(title_, " ", step, "/", steps_, "  ", rate, " ", unit_, "  ", status, "  ETA ", eta);
  if (terminal_)
    std::printf("\r%s\x1b[K", fit_line(line, terminal_columns()).c_str());
  else
    std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

void Progress::finish() {
  if (!terminal_ || shown_at_ < 0) return;
  std::printf("\n");
  shown_at_ = -1;
}

void Progress::pause() {
  finish();
  paused_ = Clock::now();
}

void Progress::go_on() { start_ += Clock::now() - paused_; }

std::string fit_line(std::string line, int columns) {
  const auto width = static_cast<size_t>(std::max(columns - 1, 0));  // the last one is the cursor's
  for (size_t gap; line.size() > width && (gap = line.find("  ")) != std::string::npos;)
    line.erase(gap, 1);
  if (line.size() <= width) return line;
  const size_t word = line.rfind(' ', width);  // half a number would be another number
  line.resize(word == std::string::npos ? width : word);
  return line;
}

std::string status_line(double loss, int64_t planned_bytes, const MemoryStats& stats) {
  char number[32];
  std::snprintf(number, sizeof number, "%.3g", loss);
  return cat("loss ", number, "  peak ", mebibytes(stats.peak.bytes),
             planned_bytes > 0 ? cat(" plan ", mebibytes(planned_bytes)) : "", " MiB");
}

}  // namespace plimsoll::train
