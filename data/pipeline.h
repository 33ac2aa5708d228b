// An input pipeline is one stream made from another. A stream is a function: each call gives the
// next item; after the last, nothing, at every call.
//
//   const auto batch = [&](int64_t number) { return decode(files, number); };
//   auto batches = mapped(numbers(0, 1000), batch, {.workers = 4, .ahead = 8});
//   while (auto next = batches()) use(*next);
//
// The items and their order are the same for every number of workers. A copy of a stream is the
// same stream; one thread at a time may read it; its own threads end with the last copy.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <type_traits>
#include <vector>

#include "core/base/error.h"

namespace plimsoll::data {

template <class T>
using Stream = std::function<std::optional<T>()>;

// begin, begin + 1, ..., end - 1.
inline Stream<int64_t> numbers(int64_t begin, int64_t end) {
  return [next = std::make_shared<int64_t>(begin), end] {
    return *next < end ? std::optional((*next)++) : std::nullopt;
  };
}

struct MapAttrs {
  int64_t workers = 0;  // threads; 0: none, each item is made when it is asked for
  int64_t ahead = 0;    // items begun and not yet taken, at most; 0: none, and no thread
};

// How mapped() works: a ring of places, one for each item of the source that was begun and not yet
// taken, in order. Workers take turns at the source, and fill their places in whatever order they
// finish. Nothing is allocated here on the way, so that a full memory is an error of f like others.
template <class T, class U>
class OrderedMap {
 public:
  OrderedMap(Stream<T> source, std::function<U(T)> f, MapAttrs attrs)
      : source_(std::move(source)),
        f_(std::move(f)),
        attrs_(attrs),
        threaded_(attrs.workers > 0 && attrs.ahead > 0) {
    check<ValueError>(attrs.workers >= 0 && attrs.ahead >= 0,
                      "mapped: workers and items ahead are counts: ", attrs.workers, " and ",
                      attrs.ahead, ". Pass 0 or more.");
    places_.resize(threaded_ ? static_cast<size_t>(attrs.ahead) : 1);
  }

  // Not in the constructor: where the second of two threads cannot be had, the first is stopped by
  // the destructor.
  void start() {
    for (int64_t i = 0; threaded_ && i < attrs_.workers; ++i)
      threads_.emplace_back([this] { work(); });
  }

  // Waits for items that are being made; what was made and not taken is dropped.
  ~OrderedMap() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  OrderedMap(const OrderedMap&) = delete;
  OrderedMap& operator=(const OrderedMap&) = delete;

  std::optional<U> next() {
    if (!threaded_ && begun_ == taken_ && !ended_) make_next();
    std::unique_lock lock(mutex_);
    Place& place = place_of(taken_);
    changed_.wait(lock, [&] { return begun_ == taken_ ? ended_ : place.item || place.error; });
    if (begun_ == taken_) return std::nullopt;
    if (place.error) std::rethrow_exception(place.error);  // and stays: so it is at every call
    std::optional<U> item = std::move(place.item);
    place.item.reset();
    ++taken_;
    lock.unlock();
    changed_.notify_all();
    return item;
  }

 private:
  struct Place {
    std::optional<U> item;
    std::exception_ptr error;
  };
  Place& place_of(int64_t number) { return places_[static_cast<size_t>(number) % places_.size()]; }

  void work() {
    while (make_next()) {
    }
  }

  // Takes one item from the source and makes of it what comes out. False when that was the end.
  bool make_next() {
    std::unique_lock turn(source_mutex_);
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock,
                    [&] { return stopping_ || ended_ || begun_ - taken_ < std::ssize(places_); });
      if (stopping_ || ended_) return false;
    }
    std::optional<T> input;
    std::exception_ptr error;
    try {
      input = source_();
    } catch (...) {
      error = std::current_exception();
    }
    Place* place = nullptr;
    {
      const std::lock_guard lock(mutex_);
      ended_ = ended_ || !input;
      if (input || error) place = &place_of(begun_++);
    }
    turn.unlock();
    std::optional<U> item;
    if (input) try {
        item = f_(std::move(*input));
      } catch (...) {
        error = std::current_exception();
      }
    {
      const std::lock_guard lock(mutex_);
      ended_ = ended_ || !item;
      if (place) *place = {std::move(item), error};
    }
    changed_.notify_all();
    return input && !error;
  }

  Stream<T> source_;
  const std::function<U(T)> f_;
  const MapAttrs attrs_;
  const bool threaded_;
  std::mutex source_mutex_;  // held by the thread whose turn it is; taken before mutex_
  std::mutex mutex_;         // guards what follows
  std::condition_variable changed_;
  std::vector<Place> places_;
  int64_t begun_ = 0, taken_ = 0;
  bool ended_ = false, stopping_ = false;
  std::vector<std::thread> threads_;
};

// f(item) for each item, in order. With workers, f runs in several threads at once, up to `ahead`
// items before they are asked for. What the source or f throws comes out in its turn and at every
// call after that. ValueError for a negative count.
template <class T, class F>
auto mapped(Stream<T> source, F f, MapAttrs attrs = {}) {
  using U = std::invoke_result_t<F&, T>;
  const auto map = std::make_shared<OrderedMap<T, U>>(std::move(source), std::move(f), attrs);
  map->start();
  return Stream<U>([map] { return map->next(); });
}

}  // namespace plimsoll::data
