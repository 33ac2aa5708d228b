// Ranks: processes that train one model together, as the engine sees them: a number, how many there
// are, and three ways to move bytes. Nobody here adds: sums are ops (ops/collective), in one fixed
// order.
//
//   const std::unique_ptr<Ranks> ranks = open_mpi({});        // core/ranks/mpi.h
//   const RanksScope scope(ranks.get());                      // ops of this thread are theirs
//   const Ticket ticket = ranks->start({.kind = Collective::Kind::all_gather, ...});
//   compute();                                                // meanwhile bytes move
//   ranks->wait(ticket);                                      // now they are there
//   const std::vector<double> all = gathered(*ranks, loss);   // of each rank, in their order
//   ranks->close();
//
// Every rank starts the same collectives with the same sizes in the same order. They run one after
// another, in that order. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/tensor/meta.h"

namespace plimsoll {

// Bytes to move between all ranks. `from` and `to` do not overlap, but for an all_gather whose
// `from` is the part of `to` that this rank's comes to.
struct Collective {
  enum class Kind : uint8_t {
    // Both have a part for each rank: part r of `from` goes to rank r, part r of `to` comes from
    // it.
    all_to_all,
    all_gather,  // `from` has one part, `to` the parts of all ranks in their order
    broadcast    // `to` has one part: what rank `root` has there. `from` is not looked at
  };
  Kind kind;
  const void* from;
  void* to;
  int64_t bytes;  // of one part
  int64_t root = 0;
  Device device = Device::cpu;  // where all of them lie
};
inline const char* name_of(Collective::Kind kind) {
  constexpr const char* kNames[] = {"all_to_all", "all_gather", "broadcast"};
  return kNames[static_cast<size_t>(kind)];
}

// What was started is known by its number, from 1.
using Ticket = int64_t;

class Ranks {
 public:
  Ranks() = default;
  virtual ~Ranks() = default;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  virtual int64_t rank() const = 0;  // from 0
  virtual int64_t size() const = 0;
  virtual int64_t local_size() const = 0;           // of them on this machine
  virtual int64_t local_rank() const { return 0; }  // from 0, among those

  // Returns at once. Until it was waited for, nobody writes to `from` or touches `to`. Memory of a
  // GPU is that of its stream of kernels: bytes move when what was queued before is done, and what
  // is queued after a wait finds them there. The host itself waits for nothing.
  virtual Ticket start(const Collective& collective) = 0;
  // Returns when that one, and so all that were started before it, have moved this rank's bytes.
  virtual void wait(Ticket ticket) = 0;
  // As wait() for what was started last of all that come to `to`, for whom the ticket cannot be
  // kept: one in memory of a GPU the host cannot read. By default all that were started.
  virtual void wait_for(const void* /*to*/) { wait_all(); }
  // All that were started: before memory goes that they move bytes of.
  virtual void wait_all() = 0;

  // These start and wait.
  void move(const Collective& collective) { wait(start(collective)); }
  void all_to_all(const void* from, void* to, int64_t bytes) {
    move({Collective::Kind::all_to_all, from, to, bytes});
  }
  void all_gather(const void* from, void* to, int64_t bytes) {
    move({Collective::Kind::all_gather, from, to, bytes});
  }
  void broadcast(void* data, int64_t bytes, int64_t root) {
    move({Collective::Kind::broadcast, nullptr, data, bytes, root});
  }

  // What this rank is at, for the message when others do not come: "in the batches 9 to 16". From
  // here on they may be so many times as late as the deadline says.
  virtual void note(const std::string&, double /*times*/ = 1) {}
  // The end of all ranks, with one sentence about this one. Does not return.
  [[noreturn]] virtual void abort(int code, const std::string& sentence) = 0;
  // Waits until all ranks have called it; then there are none. For a run that went well.
  virtual void close() {}

  // Those of this thread; nullptr: it works alone.
  static Ranks* current();
};

// How many ranks ops of this thread reach: 1 where it works alone.
int64_t ranks_now();

// Makes `ranks` current on this thread until the scope ends; nullptr: none.
class RanksScope {
 public:
  explicit RanksScope(Ranks* ranks);
  ~RanksScope();
  RanksScope(const RanksScope&) = delete;
  RanksScope& operator=(const RanksScope&) = delete;

 private:
  Ranks* previous_;
};

// `own` of each rank, in their order: for what is no tensor.
template <class T>
std::vector<T> gathered(Ranks& ranks, const T& own) {
  std::vector<T> all(static_cast<size_t>(ranks.size()));
  ranks.all_gather(&own, all.data(), sizeof(T));
  return all;
}
// As many of each: those of rank 0, then those of rank 1, and so on.
template <class T>
std::vector<T> gathered(Ranks& ranks, const std::vector<T>& own) {
  std::vector<T> all(static_cast<size_t>(ranks.size()) * own.size());
  ranks.all_gather(own.data(), all.data(), static_cast<int64_t>(own.size() * sizeof(T)));
  return all;
}

}  // namespace plimsoll
