#include "train/stop_request.h"

#include <array>
#include <atomic>

namespace plimsoll::train {
namespace {

constexpr std::array<int, 2> kSignals{SIGINT, SIGTERM};
std::array<struct sigaction, 2> before;
std::atomic<bool> asked = false;  // the handler may run on any thread
static_assert(std::atomic<bool>::is_always_lock_free);

void restore() {  // may be called from a signal handler
  for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before[i], nullptr);
}

void remember(int) {
  asked = true;
  restore();
}

}  // namespace

StopRequest::StopRequest() {
  asked = false;
  for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], nullptr, &before[i]);
  struct sigaction action {};
  action.sa_handler = remember;
  action.sa_flags = SA_RESTART;  // a file being written never notices
  for (size_t i = 0; i < kSignals.size(); ++i)
    if (before[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
}

StopRequest::~StopRequest() { restore(); }

bool StopRequest::requested() const { return asked; }

}  // namespace plimsoll::train
