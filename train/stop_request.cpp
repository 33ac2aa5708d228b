#include "train/stop_request.h"

#include <array>

namespace plimsoll::train {
namespace {

constexpr std::array<int, 2> kSignals{SIGINT, SIGTERM};
std::array<struct sigaction, 2> before;
volatile std::sig_atomic_t asked = 0;

void restore() {  // may be called from a signal handler
  for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before[i], nullptr);
}

void remember(int) {
  asked = 1;
  restore();
}

}  // namespace

StopRequest::StopRequest() {
  asked = 0;
  for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], nullptr, &before[i]);
  struct sigaction action {};
  action.sa_handler = remember;
  action.sa_flags = SA_RESTART;  // a file being written never notices
  for (size_t i = 0; i < kSignals.size(); ++i)
    if (before[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
}

StopRequest::~StopRequest() { restore(); }

bool StopRequest::requested() const { return asked != 0; }

}  // namespace plimsoll::train
