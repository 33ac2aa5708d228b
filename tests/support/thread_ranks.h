// Ranks as threads of one process: what several processes do over MPI, without any.
//
//   run_ranks(4, [&](Ranks& ranks) { all[ranks.rank()] = train(); });   // on each of 4 threads
//   run_ranks(4, f, {.hostile = true, .seed = 7});    // what may go wrong in flight does
//
// The last rank to start a collective moves the bytes of all of them. That all start the same ones
// with the same sizes is checked. Each comes a little late, by an amount that its number says, so
// that they arrive in many orders.
//
// Hostile ranks are as late and as early as a network may be, drawn from the seed: what is sent is
// read when all have started or when the first of them waits, what is received is there at the same
// two moments or not before the rank itself waits. Until then it is full of NaN. A rank that
// touches meanwhile what it receives into, or writes what it sends, is told so by its wait.
#pragma once

#include <condition_variable>
#include <cstring>
#include <deque>
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

struct Network {
  bool hostile = false;
  uint64_t seed = 0;
};

class Meeting {
 public:
  Meeting(int64_t size, const Network& network)
      : network_(network),
        started_(static_cast<size_t>(size)),
        waited_(static_cast<size_t>(size)) {}

  Ticket start(int64_t rank, const Collective& collective) {
    const std::lock_guard lock(mutex_);
    auto& own = started_[static_cast<size_t>(rank)];
    own.push_back({.collective = collective});
    const auto number = std::ssize(own);
    if (network_.hostile) {
      own.back().sent = bytes_from(rank, collective);
      own.back().late = draw(rank, number) % 2 == 0;
      if (collective.bytes > 0) std::memset(collective.to, 0xff, bytes_to(collective));
    }
    for (const auto& of_rank : started_)
      if (std::ssize(of_rank) < number) return number;
    check_same(number);
    const bool at_once = !network_.hostile || draw(-1, number) % 2 == 0;
    if (at_once) move_until(number);
    complete_ = number;
    changed_.notify_all();
    return number;
  }

  void wait(int64_t rank, Ticket ticket) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return complete_ >= ticket || failed_; });
    check<OtherRankFailed>(complete_ >= ticket, "another rank failed");
    move_until(ticket);
    for (Ticket& last = waited_[static_cast<size_t>(rank)]; last < ticket;) {
      Started& own = at(rank, ++last);
      if (network_.hostile) arrive(rank, own);
      own.sent = own.received = {};
    }
  }
  void wait_all(int64_t rank) { wait(rank, std::ssize(started_[static_cast<size_t>(rank)])); }

  void fail_all() {
    const std::lock_guard lock(mutex_);
    failed_ = true;
    changed_.notify_all();
  }

 private:
  using Bytes = std::vector<std::byte>;
  struct Started {
    Collective collective;
    bool late = false;
    Bytes sent{}, received{};  // of hostile ranks: as it was at the start, as it shall be
  };

  Started& at(int64_t rank, Ticket number) {
    return started_[static_cast<size_t>(rank)][static_cast<size_t>(number - 1)];
  }
  uint64_t draw(int64_t rank, Ticket number) const {
    return random_words(network_.seed, static_cast<uint64_t>(rank + 1),
                        static_cast<uint64_t>(number))[0];
  }
  size_t bytes_to(const Collective& c) const {
    const bool one = c.kind == Collective::Kind::broadcast;
    return static_cast<size_t>(c.bytes) * (one ? 1 : started_.size());
  }
  Bytes bytes_from(int64_t rank, const Collective& c) const {
    const bool many = c.kind == Collective::Kind::all_to_all;
    const auto* begin = static_cast<const std::byte*>(c.from);
    if (c.kind == Collective::Kind::broadcast) {
      if (rank != c.root) return {};
      begin = static_cast<const std::byte*>(c.to);
    }
    return {begin, begin + static_cast<size_t>(c.bytes) * (many ? started_.size() : 1)};
  }

  void check_same(Ticket number) {
    const Collective& first = at(0, number).collective;
    for (size_t r = 1; r < started_.size(); ++r) {
      const Collective& other = at(static_cast<int64_t>(r), number).collective;
      if (other.kind == first.kind && other.bytes == first.bytes && other.root == first.root)
        continue;
      failed_ = true;
      changed_.notify_all();
      fail<StateError>("ranks call different things: ", name_of(first.kind), " of ", first.bytes,
                       " and ", name_of(other.kind), " of ", other.bytes);
    }
  }

  void move_until(Ticket number) {
    for (; moved_ < number; ++moved_) move(moved_ + 1);
  }
  void move(Ticket number) {
    std::vector<Bytes> sent;
    for (int64_t r = 0; r < std::ssize(started_); ++r) {
      Started& own = at(r, number);
      // A broadcast's root sends what it receives, which is full of NaN by now.
      const bool here = own.collective.kind != Collective::Kind::broadcast || !network_.hostile;
      sent.push_back(here ? bytes_from(r, own.collective) : own.sent);
    }
    for (int64_t r = 0; r < std::ssize(started_); ++r) {
      Started& own = at(r, number);
      const auto& [kind, from, to, bytes, root, device] = own.collective;
      const auto part = static_cast<int64_t>(bytes);
      for (int64_t s = 0; s < std::ssize(started_); ++s) {
        if (kind == Collective::Kind::broadcast && s != root) continue;
        const auto begin = sent[static_cast<size_t>(s)].begin() +
                           (kind == Collective::Kind::all_to_all ? r * part : 0);
        own.received.insert(own.received.end(), begin, begin + part);
      }
      if (!own.late) deliver(own);
    }
  }
  static void deliver(const Started& own) {
    if (!own.received.empty())
      std::memcpy(own.collective.to, own.received.data(), own.received.size());
  }

  // What a hostile network can do no more harm to, but the rank itself did.
  void arrive(int64_t rank, Started& own) {
    const auto* to = static_cast<const std::byte*>(own.collective.to);
    const Bytes now(to, to + own.received.size());
    const Bytes expected = own.late ? Bytes(own.received.size(), std::byte{0xff}) : own.received;
    check<StateError>(now == expected, "rank ", rank, " wrote to what it receives");
    if (own.collective.kind != Collective::Kind::broadcast)
      check<StateError>(bytes_from(rank, own.collective) == own.sent, "rank ", rank,
                        " wrote to what it sends");
    if (own.late) deliver(own);
  }

  const Network network_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::deque<Started>> started_;  // by each rank, in its order
  std::vector<Ticket> waited_;                // of each rank, the last that it has waited for
  Ticket complete_ = 0;                       // that all ranks have started
  Ticket moved_ = 0;
  bool failed_ = false;
};

class ThreadRanks : public Ranks {
 public:
  ThreadRanks(Meeting& meeting, int64_t rank, int64_t size, bool late)
      : meeting_(meeting), rank_(rank), size_(size), late_(late) {}
  int64_t rank() const override { return rank_; }
  int64_t size() const override { return size_; }
  int64_t local_size() const override { return size_; }
  Ticket start(const Collective& collective) override {
    const auto pause = random_words(static_cast<uint64_t>(rank_), 1, ++calls_)[0] % 200;
    if (late_) std::this_thread::sleep_for(std::chrono::microseconds(pause));
    return meeting_.start(rank_, collective);
  }
  void wait(Ticket ticket) override { meeting_.wait(rank_, ticket); }
  void wait_all() override { meeting_.wait_all(rank_); }
  [[noreturn]] void abort(int, const std::string& sentence) override { fail<StateError>(sentence); }

 private:
  Meeting& meeting_;
  int64_t rank_, size_;
  bool late_;
  uint64_t calls_ = 0;
};

// f on a thread for each rank, with it as the current one. Throws what the first of them threw by
// itself.
inline void run_ranks(int64_t size, const std::function<void(Ranks&)>& f,
                      const Network& network = {}) {
  Meeting meeting(size, network);
  std::vector<std::exception_ptr> errors(static_cast<size_t>(size));
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      ThreadRanks ranks(meeting, rank, size, !network.hostile);
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
