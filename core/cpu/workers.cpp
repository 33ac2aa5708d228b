#include "core/cpu/workers.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <system_error>
#include <thread>

namespace plimsoll {
namespace {

using Clock = std::chrono::steady_clock;

thread_local bool inside = false;

// Longer than most gaps between two loops of a training step, and short beside the time for which
// a system gives a core to somebody else.
constexpr std::chrono::microseconds kSpin{50};

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Returns once `atomic` is no longer `old`.
void wait_while(const std::atomic<uint32_t>& atomic, uint32_t old) {
  const auto start = Clock::now();
  do {
    for (int i = 0; i < 32; ++i) {
      if (atomic.load(std::memory_order_acquire) != old) return;
      pause();
    }
  } while (Clock::now() - start < kSpin);
  atomic.wait(old, std::memory_order_acquire);
}

class Workers {
 public:
  // False where another thread has them.
  bool run(int threads, detail::WorkerBody body, const void* context) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return false;
    start(threads - 1);
    body_ = body;
    context_ = context;
    state_.store(kOpen | static_cast<uint32_t>(threads) << kThreadsAt, std::memory_order_release);
    posted_.fetch_add(1, std::memory_order_release);
    posted_.notify_all();
    body(context, 0);
    state_.fetch_and(~kOpen, std::memory_order_acq_rel);
    for (uint32_t now; (now = state_.load(std::memory_order_acquire)) & kInside;)
      wait_while(state_, now);
    return true;
  }

 private:
  // The state of a loop: whether workers may still begin, how many threads it is for, and how many
  // workers are inside. What they run is written only while none is and none may.
  static constexpr uint32_t kOpen = 1u << 31, kThreadsAt = 16, kInside = 0xffff;

  // Fewer where the system has no more threads.
  void start(int count) {
    try {
      for (; started_ < count; ++started_)
        std::thread([this, number = started_ + 1] { work(number); }).detach();
    } catch (const std::system_error&) {
    }
  }

  void work(int number) {
    inside = true;
    for (uint32_t seen = 0;;) {
      wait_while(posted_, seen);
      seen = posted_.load(std::memory_order_acquire);
      if (!enter(number)) continue;
      body_(context_, number);
      if (state_.fetch_sub(1, std::memory_order_acq_rel) & kOpen) continue;
      state_.notify_all();
    }
  }

  bool enter(int number) {
    uint32_t now = state_.load(std::memory_order_acquire);
    while (now & kOpen) {
      if (number >= static_cast<int>((now & ~kOpen) >> kThreadsAt)) return false;
      if (state_.compare_exchange_weak(now, now + 1, std::memory_order_acq_rel)) return true;
    }
    return false;
  }

  std::mutex mutex_;
  int started_ = 0;
  detail::WorkerBody body_ = nullptr;
  const void* context_ = nullptr;
  alignas(64) std::atomic<uint32_t> posted_ = 0;  // loops so far
  alignas(64) std::atomic<uint32_t> state_ = 0;
};

}  // namespace

bool in_workers() { return inside; }

void detail::share_with_workers(int threads, WorkerBody body, const void* context) {
  static Workers& workers = *new Workers;  // for as long as its threads: they end with the process
  if (!inside) {
    inside = true;
    const bool done = workers.run(threads, body, context);
    inside = false;
    if (done) return;
  }
  const bool before = inside;
  inside = true;
  body(context, 0);
  inside = before;
}

}  // namespace plimsoll
