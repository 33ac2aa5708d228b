#include "core/cpu/parallel.h"

#include <atomic>
#include <exception>
#include <mutex>

#include "core/base/error.h"
#include "core/cpu/cores.h"
#include "core/cpu/shares.h"
#include "core/cpu/workers.h"

namespace plimsoll {
namespace {

std::atomic<int> threads_to_use = 0;  // 0: not set, use what the machine has

}  // namespace

void set_num_threads(int threads) {
  check<ValueError>(threads >= 1, "set_num_threads: at least one thread is needed: ", threads,
                    ". Pass 1 or more.");
  threads_to_use = threads;
}

int num_threads() {
  static const int cores = usable_cores();  // files are read: too slow for every small product
  if (in_workers()) return 1;
  const int threads = threads_to_use;
  return threads > 0 ? threads : cores;
}

void detail::parallel_for(int64_t n, int64_t grain, Body body, const void* context) {
  const int64_t total = pieces(n, grain);
  const int threads = static_cast<int>(std::min<int64_t>(num_threads(), total));
  if (threads <= 1) {
    for (int64_t begin = 0; begin < n; begin += grain)
      body(context, begin, std::min(n, begin + grain));
    return;
  }
  Shares shares(total, threads);
  std::atomic<int64_t> failed = total;  // the first piece that threw; those before it still run
  std::exception_ptr error;
  std::mutex mutex;  // of the error
  run_with_workers(threads, [&](int thread) {
    shares.work(thread, [&](int64_t piece) {
      if (piece > failed) return;
      try {
        body(context, piece * grain, std::min(n, (piece + 1) * grain));
      } catch (...) {
        const std::scoped_lock lock(mutex);
        if (piece > failed) return;
        failed = piece;
        error = std::current_exception();
      }
    });
  });
  if (error) std::rethrow_exception(error);
}

}  // namespace plimsoll
