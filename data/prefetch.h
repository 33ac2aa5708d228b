// Prefetch: makes things ahead of time on one background thread.
//
//   Prefetch<Image> images(count, /*depth=*/2, [&](int64_t i) { return decode(files[i]); });
//   while (auto image = images.next()) use(*image);
//
// `make` is called for 0, 1, ..., count - 1 in this order, at most `depth` results ahead of next().
// With depth 0 there is no thread: next() calls `make` itself, so results are the same either way.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

namespace plimsoll::data {

template <class T>
class Prefetch {
 public:
  using Make = std::function<T(int64_t)>;

  Prefetch(int64_t count, int64_t depth, Make make)
      : count_(count), depth_(depth), make_(std::move(make)) {
    if (depth_ > 0) thread_ = std::thread([this] { produce(); });
  }

  // Waits for the `make` that is running, if any; what was made and not taken is dropped.
  ~Prefetch() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }
  Prefetch(const Prefetch&) = delete;
  Prefetch& operator=(const Prefetch&) = delete;

  // The next result; nothing after the last. What `make` threw is thrown here, in its turn and at
  // every call after that.
  std::optional<T> next() {
    if (taken_ == count_) return std::nullopt;
    if (depth_ == 0) {
      T result = make_(taken_);
      ++taken_;
      return result;
    }
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !ready_.empty() || error_; });
    if (ready_.empty()) std::rethrow_exception(error_);
    std::optional<T> result = std::move(ready_.front());
    ready_.pop_front();
    ++taken_;
    lock.unlock();
    changed_.notify_all();
    return result;
  }

 private:
  void produce() {
    try {
      for (int64_t i = 0; i < count_; ++i) {
        {
          std::unique_lock lock(mutex_);
          changed_.wait(lock, [this] { return stopping_ || std::ssize(ready_) < depth_; });
          if (stopping_) return;
        }
        T result = make_(i);
        const std::lock_guard lock(mutex_);
        ready_.push_back(std::move(result));
        changed_.notify_all();
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      error_ = std::current_exception();
      changed_.notify_all();
    }
  }

  const int64_t count_, depth_;
  const Make make_;
  int64_t taken_ = 0;  // used by the consumer only

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<T> ready_;
  std::exception_ptr error_;
  bool stopping_ = false;

  std::thread thread_;
};

}  // namespace plimsoll::data
