// A library with NCCL's name for simulated GPUs, each of a process of its own. It moves bytes
// through shared memory when the stream comes to it, and looks whether all ranks ask for the same,
// with the same sizes, in the same order; where they do not, it says so on stderr, and the
// communicator has an error for ever, as one has whose network broke.
//
// Simulated streams run when somebody waits for them, and a rank would wait for ever for one whose
// host is not interested in its own GPU. So a thread waits for the stream of each communicator,
// late: what reads too early still finds nothing. Every second call is as early as it may be: what
// it sends is read at once when all is done that its stream waits for.
//
// SIMULATED_NCCL_FOLDER: where the file lies that all of them map, instead of /dev/shm.
// SIMULATED_NCCL_FAILS=n: the n-th call of this process, of which the start is the first, is an
// error of the system.
#include "nccl.h"

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "tests/cuda/process_meeting.h"

using plimsoll::ProcessMeeting;

namespace {

constexpr std::chrono::milliseconds kLate{20};

int fails() {
  const char* value = std::getenv("SIMULATED_NCCL_FAILS");
  return value ? std::atoi(value) : 0;
}

// What a rank sends to each and receives of each.
struct Exchange {
  std::string what;
  std::vector<ProcessMeeting::Sent> sent;
  std::vector<ProcessMeeting::Received> received;
  std::vector<std::shared_ptr<const std::vector<std::byte>>> early{};  // copies of what is sent
};

}  // namespace

struct SimulatedCommunicator {
  SimulatedCommunicator(const std::string& file, int rank, int size)
      : meeting(file, rank, size), rank(rank), size(size), driver([this] { drive(); }) {}

  Exchange nothing(std::string what) const {
    return {std::move(what),
            std::vector<ProcessMeeting::Sent>(size),
            std::vector<ProcessMeeting::Received>(size),
            {}};
  }

  ncclResult_t queue(Exchange exchange, cudaStream_t on) {
    if (++calls == fails()) state = ncclSystemError;
    if ((calls + rank) % 2 == 1) {
      cudaStreamSynchronize(on);
      for (ProcessMeeting::Sent& part : exchange.sent) {
        const auto* const bytes = static_cast<const std::byte*>(part.data);
        const auto early =
            std::make_shared<const std::vector<std::byte>>(bytes, bytes + part.bytes);
        part.data = early->data();
        exchange.early.push_back(early);
      }
    }
    simulated::queue(on, [this, exchange = std::move(exchange)] {
      const std::string wrong = meeting.exchange(exchange.what, exchange.sent, exchange.received,
                                                 [this] { return state != ncclSuccess; });
      if (wrong.empty()) return;
      std::fprintf(stderr, "NCCL's stand-in: %s\n", wrong.c_str());
      if (state == ncclSuccess) state = ncclInvalidUsage;
      while (true) std::this_thread::sleep_for(kLate);  // such a kernel never ends
    });
    const std::lock_guard lock(mutex);
    stream = on;
    changed.notify_all();
    return state;
  }

  void drive() {
    std::unique_lock lock(mutex);
    while (!over) {
      changed.wait(lock, [&] { return over || stream; });
      if (!stream) return;
      const cudaStream_t waited = std::exchange(stream, nullptr);
      lock.unlock();
      std::this_thread::sleep_for(kLate);
      cudaStreamSynchronize(waited);
      lock.lock();
    }
  }

  ProcessMeeting meeting;
  const int rank, size;
  int calls = 1;  // the start
  std::atomic<ncclResult_t> state = ncclSuccess;
  std::mutex mutex;
  std::condition_variable changed;
  cudaStream_t stream = nullptr;  // that something was queued on
  bool over = false;
  std::thread driver;
};

namespace {

// Of this thread.
thread_local bool grouped = false;
thread_local std::optional<Exchange> group;
thread_local ncclComm_t group_of = nullptr;
thread_local cudaStream_t group_on = nullptr;

Exchange& in_group(ncclComm_t communicator, cudaStream_t stream) {
  if (!group) group = communicator->nothing("a group of sends and receives");
  group_of = communicator;
  group_on = stream;
  return *group;
}

}  // namespace

extern "C" {

const char* ncclGetErrorString(ncclResult_t result) {
  return result == ncclSystemError    ? "unhandled system error"
         : result == ncclInvalidUsage ? "invalid usage"
                                      : "no error";
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  const char* folder = std::getenv("SIMULATED_NCCL_FOLDER");
  std::snprintf(id->internal, sizeof id->internal, "%s/plimsoll_nccl_%d",
                folder ? folder : "/dev/shm", static_cast<int>(getpid()));
  return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t* made, int ranks, ncclUniqueId id, int rank) {
  if (fails() == 1) return ncclSystemError;
  *made = new SimulatedCommunicator(id.internal, rank, ranks);
  const Exchange greeting = (*made)->nothing("the start");
  (*made)->meeting.exchange(greeting.what, greeting.sent, greeting.received);
  unlink(id.internal);  // all have it open
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t communicator, ncclResult_t* state) {
  *state = communicator->state;
  return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t communicator) {
  {
    const std::lock_guard lock(communicator->mutex);
    communicator->over = true;
    communicator->changed.notify_all();
  }
  communicator->driver.join();
  delete communicator;
  return ncclSuccess;
}

ncclResult_t ncclAllGather(const void* from, void* to, size_t count, ncclDataType_t,
                           ncclComm_t communicator, cudaStream_t stream) {
  Exchange all = communicator->nothing("all_gather of " + std::to_string(count));
  for (int r = 0; r < communicator->size; ++r) {
    all.sent[r] = {from, count};
    all.received[r] = {static_cast<std::byte*>(to) + static_cast<size_t>(r) * count, count};
  }
  return communicator->queue(std::move(all), stream);
}

ncclResult_t ncclBroadcast(const void* from, void* to, size_t count, ncclDataType_t, int root,
                           ncclComm_t communicator, cudaStream_t stream) {
  Exchange all = communicator->nothing("broadcast of " + std::to_string(count) + " from " +
                                       std::to_string(root));
  if (communicator->rank == root) all.sent.assign(all.sent.size(), {from, count});
  all.received[root] = {to, count};
  return communicator->queue(std::move(all), stream);
}

ncclResult_t ncclSend(const void* from, size_t count, ncclDataType_t, int to,
                      ncclComm_t communicator, cudaStream_t stream) {
  if (!grouped) return ncclInvalidUsage;  // the engine sends in groups alone
  in_group(communicator, stream).sent[to] = {from, count};
  return ncclSuccess;
}

ncclResult_t ncclRecv(void* to, size_t count, ncclDataType_t, int from, ncclComm_t communicator,
                      cudaStream_t stream) {
  if (!grouped) return ncclInvalidUsage;
  in_group(communicator, stream).received[from] = {to, count};
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
  grouped = true;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  grouped = false;
  if (!group) return ncclSuccess;
  Exchange all = std::move(*group);
  group.reset();
  return group_of->queue(std::move(all), group_on);
}
}
