#include "train/stop_request.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <string_view>

namespace plimsoll::train {
namespace {

constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGXCPU, SIGXFSZ, SIGPIPE};
std::array<struct sigaction, kSignals.size()> before;
std::atomic<bool> asked = false;  // the handler may run on any thread
static_assert(std::atomic<bool>::is_always_lock_free);
std::mutex mutex;  // of what follows, which no handler touches
int objects = 0;

void restore() {  // may be called from a signal handler
  for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before[i], nullptr);
}

void remember(int number) {
  asked = true;
  restore();
  if (number == SIGINT) {  // somebody waits at the keyboard, and a batch may take long
    constexpr std::string_view answer =
        "\nstops when the batch under way is done; a second Ctrl-C ends at once\n";
    const int error = errno;  // of what was interrupted
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, answer.data(), answer.size());
    errno = error;
  }
  // Whoever writes into a closed pipe, or above a limit, gets an error: so there is time to save.
  for (const int other : {SIGPIPE, SIGXFSZ}) std::signal(other, SIG_IGN);
}

}  // namespace

StopRequest::StopRequest() {
  const std::lock_guard lock(mutex);
  if (objects++ > 0) return;
  asked = false;
  for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], nullptr, &before[i]);
  struct sigaction action {};
  action.sa_handler = remember;
  action.sa_flags = SA_RESTART;  // a file being written never notices
  for (size_t i = 0; i < kSignals.size(); ++i)
    if (before[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
}

StopRequest::~StopRequest() {
  const std::lock_guard lock(mutex);
  if (--objects == 0) restore();
}

bool StopRequest::requested() const { return asked; }

}  // namespace plimsoll::train
