// Ranks: processes that train one model together, as the engine sees them: a number, how many there
// are, and four ways to move bytes. Nobody here adds: sums are ops (ops/collective), in one fixed
// order.
//
//   const std::unique_ptr<Ranks> ranks = open_mpi({});        // core/ranks/mpi.h
//   const RanksScope scope(ranks.get());                      // ops of this thread talk to them
//   const std::vector<double> all = gathered(*ranks, loss);   // of each rank, in their order
//   ranks->close();
//
// Every rank calls the same functions with the same sizes in the same order; each returns when the
// bytes of this rank are there. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace plimsoll {

class Ranks {
 public:
  Ranks() = default;
  virtual ~Ranks() = default;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  virtual int64_t rank() const = 0;  // from 0
  virtual int64_t size() const = 0;
  virtual int64_t local_size() const = 0;  // of them on this machine

  // `from` and `to` have size() parts of `bytes` each: part r of `from` goes to rank r, and part r
  // of `to` comes from rank r. They do not overlap.
  virtual void all_to_all(const void* from, void* to, int64_t bytes) = 0;
  // `from` has one part, `to` the parts of all ranks in their order. `from` may be the part of `to`
  // that this rank's comes to.
  virtual void all_gather(const void* from, void* to, int64_t bytes) = 0;
  // What rank `root` has, on every rank.
  virtual void broadcast(void* data, int64_t bytes, int64_t root) = 0;

  // What this rank is at, for the message when others do not come: "the batches 9 to 16".
  virtual void note(const std::string&) {}
  // The end of all ranks, with one sentence about this one. Does not return.
  [[noreturn]] virtual void abort(int code, const std::string& sentence) = 0;
  // Waits until all ranks have called it; then there are none. For a run that went well.
  virtual void close() {}

  // Those of this thread; nullptr: it works alone.
  static Ranks* current();
};

// How many ranks ops of this thread talk to: 1 where it works alone.
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
