// One line that says how training goes: rate, loss, memory, time left. On a terminal it
// is redrawn in place, and therefore never wider than that; into a file or pipe it becomes plain
// lines, ten in all.
//
//   Progress progress("batch", batches, "images/s");
//   progress.update(number, number * batch, status_line(loss, planned, pool.stats()));
//   progress.pause();                       // while there is something else to do
//   progress.go_on();
//   progress.finish();
//
// Rate and time left are of the last seconds that were no pause: what is fast now was slow an hour
// ago, and an evaluation is no training.
#pragma once

#include <chrono>
#include <string>

#include "memory/pool/pooled_allocator.h"
#include "train/log/recent_rate.h"

namespace plimsoll::train {

class Progress {
 public:
  // `steps` in all, of which `done` were made before; `unit` is what update() counts.
  Progress(std::string title, int64_t steps, std::string unit, int64_t done = 0);

  // After `step` steps, those that were made since then ate `amount` units.
  void update(int64_t step, int64_t amount, const std::string& status);
  void finish();  // ends the line, where there is one
  void pause();   // the same, and time stands still until go_on()
  void go_on();

 private:
  using Clock = std::chrono::steady_clock;

  double seconds() const;  // without pauses

  std::string title_, unit_;
  RecentRate rate_;
  int64_t steps_;
  bool terminal_;
  int64_t shown_tenth_ = 0;
  double shown_at_ = -1;  // below 0: no line is there
  Clock::time_point start_ = Clock::now(), paused_{};
};

// The line in fewer than `columns` characters, so that no terminal wraps it: two spaces become one
// where that is needed, and the words that are still too much are left out at the end.
std::string fit_line(std::string line, int columns);

// "loss 0.012  peak 80.4 plan 80.4 MiB": of a pool its peak, and what was planned, left out where
// that is 0 bytes.
std::string status_line(double loss, int64_t planned_bytes, const MemoryStats& stats);

}  // namespace plimsoll::train
