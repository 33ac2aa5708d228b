// StopRequest: Ctrl-C asks for an end instead of making one.
//
//   StopRequest stop;
//   while (batches_left() && !stop.requested()) train_batch();
//   if (stop.requested()) return kInterrupted;
//
// While an object lives, the first of these signals is only remembered: SIGINT, SIGTERM, SIGHUP
// (the terminal is gone), SIGUSR1 and SIGXCPU (batch systems), SIGXFSZ and SIGPIPE (what it writes
// to is full or gone). After it they mean again what they meant before, so a second one ends the
// process at once; the last two are then ignored. A signal that the process was started to ignore
// (nohup) stays ignored. SIGINT is answered at once, on standard error. Objects that live at the
// same time are asked together.
#pragma once

#include <csignal>

#include "core/base/error.h"

namespace plimsoll::train {

// The exit code of a program that was asked to stop: 128 + SIGINT, as shells have it.
constexpr int kInterrupted = 130;

// Thrown by a program that stops because it was asked to, when all is saved.
struct Interrupted : Error {
  using Error::Error;
};

class StopRequest {
 public:
  StopRequest();
  ~StopRequest();
  StopRequest(const StopRequest&) = delete;
  StopRequest& operator=(const StopRequest&) = delete;

  bool requested() const;
};

}  // namespace plimsoll::train
