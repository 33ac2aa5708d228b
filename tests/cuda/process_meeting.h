// Processes that move bytes among each other through a file that all of them map: for tests whose
// ranks must be processes, without MPI.
//
//   ProcessMeeting meeting(file, rank, size);
//   const std::string wrong = meeting.exchange("all_gather of 8 bytes", sent, received);
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace plimsoll {

class ProcessMeeting {
 public:
  struct Sent {
    const void* data;
    size_t bytes;
  };
  struct Received {
    void* data;
    size_t bytes;
  };

  // The file is made by the first, 256 MiB for each rank of which what is used takes memory.
  ProcessMeeting(const std::string& file, int rank, int size) : rank_(rank), size_(size) {
    const size_t bytes = sizeof(Desk) * kMost + kRoom * static_cast<size_t>(size);
    const int descriptor = open(file.c_str(), O_CREAT | O_RDWR, 0600);
    void* at = MAP_FAILED;
    if (size <= kMost && descriptor >= 0 && ftruncate(descriptor, static_cast<off_t>(bytes)) == 0)
      at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (at == MAP_FAILED) {
      std::perror(file.c_str());
      std::abort();
    }
    ::close(descriptor);
    desks_ = static_cast<Desk*>(at);
    rooms_ = static_cast<std::byte*>(at) + sizeof(Desk) * kMost;
  }

  // All call it, in one order: `sent` has for each rank what it gets, `received` where what each
  // rank sends goes. What is wrong where they do not say the same `what` or have other sizes;
  // "stopped" where stopped() says so while others have not come.
  std::string exchange(
      const std::string& what, const std::vector<Sent>& sent, const std::vector<Received>& received,
      const std::function<bool()>& stopped = [] { return false; }) {
    const uint64_t number = ++number_;
    Desk& own = desks_[rank_];
    const auto all = [&](std::atomic<uint64_t> Desk::*reached, uint64_t least) {
      for (int r = 0; r < size_; ++r)
        while ((desks_[r].*reached).load() < least) {
          if (stopped()) return false;
          std::this_thread::sleep_for(std::chrono::microseconds(20));
        }
      return true;
    };
    if (!all(&Desk::left, number - 1)) return "stopped";
    std::byte* at = room(rank_);
    std::memset(own.what, 0, sizeof own.what);
    what.copy(own.what, sizeof own.what - 1);
    for (int r = 0; r < size_; ++r) {
      own.bytes[r] = sent[r].bytes;
      if (sent[r].bytes > 0) std::memcpy(at, sent[r].data, sent[r].bytes);
      at += sent[r].bytes;
    }
    own.arrived = number;
    if (!all(&Desk::arrived, number)) return "stopped";
    std::string wrong;
    for (int r = 0; r < size_ && wrong.empty(); ++r) {
      const Desk& other = desks_[r];
      if (std::strcmp(other.what, own.what) != 0)
        wrong = "rank " + std::to_string(rank_) + " calls " + own.what + ", rank " +
                std::to_string(r) + " " + other.what;
      else if (other.bytes[rank_] != received[r].bytes)
        wrong = "rank " + std::to_string(rank_) + " expects " + std::to_string(received[r].bytes) +
                " bytes of rank " + std::to_string(r) + ", which sends " +
                std::to_string(other.bytes[rank_]);
      if (!wrong.empty()) wrong += ", in exchange " + std::to_string(number);
    }
    for (int r = 0; r < size_ && wrong.empty(); ++r) {
      const std::byte* from = room(r);
      for (int s = 0; s < rank_; ++s) from += desks_[r].bytes[s];
      if (received[r].bytes > 0) std::memcpy(received[r].data, from, received[r].bytes);
    }
    own.left = number;
    return wrong;
  }

 private:
  static constexpr int kMost = 8;
  static constexpr size_t kRoom = size_t{256} << 20;

  struct Desk {                           // of a rank
    std::atomic<uint64_t> arrived, left;  // how many exchanges
    size_t bytes[kMost];                  // to each
    char what[128];
  };

  std::byte* room(int rank) const { return rooms_ + kRoom * static_cast<size_t>(rank); }

  const int rank_, size_;
  uint64_t number_ = 0;
  Desk* desks_ = nullptr;
  std::byte* rooms_ = nullptr;
};

}  // namespace plimsoll
