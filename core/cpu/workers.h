// Workers: the threads that help with a loop. They spin for a moment after one, as the next is
// often near, and then sleep; whoever waits for them does so too. A loop waits for those alone that
// have begun with it: on a machine that others use too, a thread that gets no core is not missed,
// since the rest do its pieces (core/cpu/shares.h).
//
//   run_with_workers(4, [&](int thread) { ... });   // on this thread, number 0, and up to 3 others
#pragma once

namespace plimsoll {

namespace detail {
using WorkerBody = void (*)(const void* context, int thread);
void share_with_workers(int threads, WorkerBody body, const void* context);
}  // namespace detail

// Runs f(0) on this thread, and f(1) ... f(threads - 1), each on a thread of its own, if that
// thread comes before f(0) has returned. Returns when all that began have ended. f does not throw.
// Inside of f, and while another thread of the process has the workers, f(0) alone is run. A child
// of fork() has no workers and works alone.
template <class F>
void run_with_workers(int threads, const F& f) {
  detail::share_with_workers(
      threads, [](const void* context, int thread) { (*static_cast<const F*>(context))(thread); },
      &f);
}

// Whether this thread runs such an f.
bool in_workers();

}  // namespace plimsoll
