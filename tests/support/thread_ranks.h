// Ranks as threads of one process: what several processes do over MPI, without any.
//
//   run_ranks(4, [&](Ranks& ranks) { all[ranks.rank()] = train(); });   // on each of 4 threads
//
// The last rank to arrive moves the bytes of all of them. That all call the same function with the
// same size is checked. Each comes a little late, by an amount that its number says, so that they
// arrive in many orders.
#pragma once

#include <condition_variable>
#include <cstring>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "core/base/error.h"
#include "core/base/philox.h"
#include "core/ranks/ranks.h"

namespace plimsoll {

struct OtherRankFailed : Error {
  using Error::Error;
};

class Meeting {
 public:
  explicit Meeting(int64_t size) : calls_(static_cast<size_t>(size)) {}

  struct Call {
    const char* name = "";
    const void* from = nullptr;
    void* to = nullptr;
    int64_t bytes = 0, root = 0;
  };

  void meet(int64_t rank, const Call& call) {
    std::unique_lock lock(mutex_);
    calls_[static_cast<size_t>(rank)] = call;
    if (++arrived_ == std::ssize(calls_)) {
      arrived_ = 0;
      ++met_;
      move(call);
      changed_.notify_all();
      return;
    }
    changed_.wait(lock, [&, before = met_] { return met_ != before || failed_; });
    check<OtherRankFailed>(!failed_, "another rank failed");
  }
  void fail_all() {
    const std::lock_guard lock(mutex_);
    failed_ = true;
    changed_.notify_all();
  }
  int64_t met() const { return met_; }

 private:
  void move(const Call& call) {
    const auto n = std::ssize(calls_);
    for (int64_t r = 0; r < n; ++r) {
      const Call& other = calls_[static_cast<size_t>(r)];
      if (std::strcmp(other.name, call.name) != 0 || other.bytes != call.bytes ||
          other.root != call.root) {
        failed_ = true;
        changed_.notify_all();
        fail<StateError>("ranks call different things: ", call.name, " of ", call.bytes, " and ",
                         other.name, " of ", other.bytes);
      }
    }
    const bool all_to_all = std::strcmp(call.name, "all_to_all") == 0;
    const auto bytes = static_cast<size_t>(call.bytes);
    for (int64_t r = 0; r < n && bytes > 0; ++r) {
      auto* to = static_cast<std::byte*>(calls_[static_cast<size_t>(r)].to);
      if (std::strcmp(call.name, "broadcast") == 0) {
        if (r != call.root) std::memcpy(to, calls_[static_cast<size_t>(call.root)].to, bytes);
        continue;
      }
      for (int64_t s = 0; s < n; ++s) {
        const auto* from = static_cast<const std::byte*>(calls_[static_cast<size_t>(s)].from);
        std::memmove(to + s * call.bytes, from + (all_to_all ? r * call.bytes : 0), bytes);
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Call> calls_;
  int64_t arrived_ = 0, met_ = 0;
  bool failed_ = false;
};

class ThreadRanks : public Ranks {
 public:
  ThreadRanks(Meeting& meeting, int64_t rank, int64_t size)
      : meeting_(meeting), rank_(rank), size_(size) {}
  int64_t rank() const override { return rank_; }
  int64_t size() const override { return size_; }
  int64_t local_size() const override { return size_; }
  void all_to_all(const void* from, void* to, int64_t bytes) override {
    meet({"all_to_all", from, to, bytes});
  }
  void all_gather(const void* from, void* to, int64_t bytes) override {
    meet({"all_gather", from, to, bytes});
  }
  void broadcast(void* data, int64_t bytes, int64_t root) override {
    meet({"broadcast", data, data, bytes, root});
  }
  [[noreturn]] void abort(int, const std::string& sentence) override { fail<StateError>(sentence); }

 private:
  void meet(const Meeting::Call& call) {
    const auto late = random_words(static_cast<uint64_t>(rank_), 1, ++calls_)[0] % 200;
    std::this_thread::sleep_for(std::chrono::microseconds(late));
    meeting_.meet(rank_, call);
  }

  Meeting& meeting_;
  int64_t rank_, size_;
  uint64_t calls_ = 0;
};

// f on a thread for each rank, with it as the current one. Throws what the first of them threw by
// itself.
inline void run_ranks(int64_t size, const std::function<void(Ranks&)>& f) {
  Meeting meeting(size);
  std::vector<std::exception_ptr> errors(static_cast<size_t>(size));
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      ThreadRanks ranks(meeting, rank, size);
      const RanksScope scope(&ranks);
      try {
        f(ranks);
      } catch (const OtherRankFailed&) {
      } catch (...) {
        errors[static_cast<size_t>(rank)] = std::current_exception();
        meeting.fail_all();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

}  // namespace plimsoll
