// Ranks over NCCL: core/cuda/seam/cuda_ranks.h. A process has one communicator, whose id the ranks
// that exist already hand around, and a stream of its own to move bytes on, beside that of the
// kernels. Events order the two: the host waits for no bytes. NCCL has no deadline, on the GPU and
// where the host itself is in it, so a thread watches both: what was started has so long from when
// this rank was ready for it. NCCL adds nothing here, and sees bytes: sums are ops
// (ops/collective), in one order.
#include <nccl.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/cuda/runtime.h"
#include "core/cuda/seam/cuda_ranks.h"
#include "core/cuda/vendor/libraries.h"

namespace plimsoll::cuda {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kTimedOut = 4;                    // exit code
constexpr std::chrono::milliseconds kPause{1};  // of the thread that watches
constexpr double kStartTimes = 10;              // longer: the first makes all connections

struct Nccl {
  Library library{{.name = "NCCL 2", .file = "libnccl.so.2", .package = "nvidia-nccl-cu13"}};
#define PLIMSOLL_NCCL(name) \
  decltype(nccl##name)* name = library.function<decltype(nccl##name)>("nccl" #name)
  PLIMSOLL_NCCL(GetErrorString);
  PLIMSOLL_NCCL(GetUniqueId);
  PLIMSOLL_NCCL(CommInitRank);
  PLIMSOLL_NCCL(CommGetAsyncError);
  PLIMSOLL_NCCL(CommDestroy);
  PLIMSOLL_NCCL(AllGather);
  PLIMSOLL_NCCL(Broadcast);
  PLIMSOLL_NCCL(Send);
  PLIMSOLL_NCCL(Recv);
  PLIMSOLL_NCCL(GroupStart);
  PLIMSOLL_NCCL(GroupEnd);
#undef PLIMSOLL_NCCL
};

// The stream that bytes move on, and all events that were made to order it with that of kernels.
struct Moving {
  Moving() {
    cuda::stream();  // opens the device
    check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
               "cudaStreamCreateWithFlags");
  }
  ~Moving() {
    for (const cudaEvent_t event : events) cudaEventDestroy(event);
    cudaStreamDestroy(stream);
  }
  Moving(const Moving&) = delete;
  Moving& operator=(const Moving&) = delete;

  cudaStream_t stream = nullptr;
  std::vector<cudaEvent_t> events;
};

class NcclRanks final : public Ranks {
 public:
  NcclRanks(double timeout, std::unique_ptr<Ranks>& host) : timeout_(timeout), host_(*host) {
    watcher_ = std::jthread([this](const std::stop_token& over) { watch(over); });
    connect();
    owned_ = std::move(host);
  }

  int64_t rank() const override { return host_.rank(); }
  int64_t size() const override { return host_.size(); }
  int64_t local_size() const override { return host_.local_size(); }
  int64_t local_rank() const override { return host_.local_rank(); }

  // Tickets of the host are above 0, those of the GPU below.
  Ticket start(const Collective& collective) override {
    if (collective.device != Device::cuda) return host_.start(collective);
    ++started_;
    const std::string what = cat(name_of(collective.kind), " of ", collective.bytes,
                                 " bytes between GPUs, its collective number ", started_);
    fly({.what = what, .number = started_, .to = collective.to, .first = started_ == 1},
        [&] { call(move(collective), what); });
    return -started_;
  }

  void wait(Ticket ticket) override {
    if (ticket > 0) return host_.wait(ticket);
    wait_for_last([&](const Flight& flight) { return flight.number == -ticket; });
  }
  void wait_for(const void* to) override {
    wait_for_last([&](const Flight& flight) { return flight.to == to; });
  }
  void wait_all() override {
    wait_for_last([](const Flight&) { return true; });
    host_.wait_all();
  }

  void note(const std::string& what, double times) override {
    host_.note(what, times);
    const std::lock_guard lock(mutex_);
    note_ = what;
    times_ = times;
  }

  [[noreturn]] void abort(int code, const std::string& sentence) override {
    const std::lock_guard lock(mutex_);
    end_all(code, sentence);
  }

  // All that moved bytes are done before NCCL ends. One of the ranks may still write a save.
  void close() override {
    fly({.what = "close", .first = true}, [&] {
      check_cuda(cudaStreamSynchronize(moving_.stream), "cudaStreamSynchronize");
      call(nccl_.CommDestroy(taken()), "close");
    });
    host_.close();
  }

 private:
  // Started, and not seen to be done.
  struct Flight {
    std::string what{};
    int64_t number = 0;
    const void* to = nullptr;
    bool first = false;                           // of those that may take longer
    cudaEvent_t ready = nullptr, done = nullptr;  // all before it on this rank; itself
    bool queued = false;                          // on the stream, with `done` behind it
    std::optional<Clock::time_point> since{};     // when it was seen that all before it is done
  };

  // What NCCL is asked for, of the host or on the stream of moved bytes, which comes to it when all
  // is done that was queued for kernels.
  template <class Calls>
  void fly(Flight flight, const Calls& calls) {
    flight.ready = event();
    flight.done = event();
    check_cuda(cudaEventRecord(flight.ready, stream()), "cudaEventRecord");
    follow(moving_.stream, flight.ready);
    Flight* added = nullptr;  // stays where it is until it is queued and done
    {
      const std::lock_guard lock(mutex_);
      added = &flights_.emplace_back(std::move(flight));
      changed_.notify_all();
    }
    calls();
    check_cuda(cudaEventRecord(added->done, moving_.stream), "cudaEventRecord");
    const std::lock_guard lock(mutex_);
    added->queued = true;
  }

  void connect() {
    const auto check_start = [&](ncclResult_t result) {
      check<DeviceError>(result == ncclSuccess,
                         "cuda: NCCL does not start: ", nccl_.GetErrorString(result),
                         ". Give every rank a GPU of its own; NCCL_DEBUG=WARN says more.");
    };
    ncclUniqueId id{};
    if (rank() == 0) check_start(nccl_.GetUniqueId(&id));
    host_.broadcast(&id, sizeof id, 0);
    fly({.what = "the start of NCCL", .first = true}, [&] {
      ncclComm_t made = nullptr;
      check_start(
          nccl_.CommInitRank(&made, static_cast<int>(size()), id, static_cast<int>(rank())));
      const std::lock_guard lock(mutex_);
      communicator_ = made;
    });
  }

  ncclResult_t move(const Collective& collective) {
    const auto& [kind, from, to, bytes, root, device] = collective;
    const auto count = static_cast<size_t>(bytes);
    if (kind == Collective::Kind::all_gather)
      return nccl_.AllGather(from, to, count, ncclUint8, communicator_, moving_.stream);
    if (kind == Collective::Kind::broadcast)
      return nccl_.Broadcast(to, to, count, ncclUint8, static_cast<int>(root), communicator_,
                             moving_.stream);
    ncclResult_t result = nccl_.GroupStart();
    for (int r = 0; r < static_cast<int>(size()) && result == ncclSuccess; ++r) {
      const auto* const sent = static_cast<const std::byte*>(from) + r * bytes;
      auto* const received = static_cast<std::byte*>(to) + r * bytes;
      result = nccl_.Send(sent, count, ncclUint8, r, communicator_, moving_.stream);
      if (result == ncclSuccess)
        result = nccl_.Recv(received, count, ncclUint8, r, communicator_, moving_.stream);
    }
    return result == ncclSuccess ? nccl_.GroupEnd() : result;
  }

  // Nobody asks it anything any more.
  ncclComm_t taken() {
    const std::lock_guard lock(mutex_);
    return std::exchange(communicator_, nullptr);
  }

  // The stream of kernels goes on when the last of those that are meant, and so all before it, have
  // moved their bytes. What is in flight no more has moved them.
  template <class Is>
  void wait_for_last(const Is& is) {
    cudaEvent_t done = nullptr;
    {
      const std::lock_guard lock(mutex_);
      const auto last = std::find_if(flights_.rbegin(), flights_.rend(), is);
      if (last != flights_.rend()) done = last->done;
    }
    if (done) follow(stream(), done);  // which may block where much is queued: watching goes on
  }

  void watch(const std::stop_token& over) {
    stream();  // makes the device that of this thread
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, over, [&] { return !flights_.empty(); }) && !over.stop_requested()) {
      look();
      changed_.wait_for(lock, over, kPause, [] { return false; });
    }
  }

  // At the oldest. A kernel that failed is no business of this thread: who waits for it is told.
  void look() {
    while (!flights_.empty() && flights_.front().queued && is_done(flights_.front().done)) {
      free_.push_back(flights_.front().ready);
      free_.push_back(flights_.front().done);
      flights_.pop_front();
    }
    if (flights_.empty()) return;
    Flight& oldest = flights_.front();
    ncclResult_t state = ncclSuccess;
    if (communicator_) nccl_.CommGetAsyncError(communicator_, &state);
    if (state != ncclSuccess) fail(oldest.what, state);
    if (!is_done(oldest.ready)) return;
    const auto now = Clock::now();
    if (!oldest.since) oldest.since = now;
    const double most = timeout_ * (oldest.first ? std::max(kStartTimes, times_) : times_);
    if (std::chrono::duration<double>(now - *oldest.since).count() > most)
      fail_in(kTimedOut, oldest.what,
              cat("which is not done after ", most,
                  " s: a rank was stopped, or the network was cut or is too slow."));
  }

  void call(ncclResult_t result, const std::string& what) {
    if (result == ncclSuccess) return;
    const std::lock_guard lock(mutex_);
    fail(what, result);
  }

  // These hold the mutex for good: one of the threads speaks, once. ncclCommAbort is not called: a
  // collective that it ends looks to the stream as if it had moved its bytes, and a step that goes
  // on with what is not there may be saved. The process ends, and takes communicator and kernels
  // along.
  [[noreturn]] void fail(const std::string& what, ncclResult_t result) {
    fail_in(
        1, what,
        cat("NCCL met an error: ", nccl_.GetErrorString(result), ". NCCL_DEBUG=WARN says more."));
  }
  [[noreturn]] void fail_in(int code, const std::string& what, const std::string& why) {
    end_all(code, cat("in ", what, note_.empty() ? "" : ", " + note_, ", ", why,
                      " All ranks end; resume from the newest save."));
  }
  [[noreturn]] void end_all(int code, const std::string& sentence) {
    host_.abort(code, sentence);
    std::_Exit(code);  // GCC does not see that a virtual function does not return
  }

  static bool is_done(cudaEvent_t event) { return cudaEventQuery(event) != cudaErrorNotReady; }
  static void follow(cudaStream_t later, cudaEvent_t event) {
    check_cuda(cudaStreamWaitEvent(later, event, 0), "cudaStreamWaitEvent");
  }
  cudaEvent_t event() {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      const cudaEvent_t taken = free_.back();
      free_.pop_back();
      return taken;
    }
    cudaEvent_t made = nullptr;
    check_cuda(cudaEventCreateWithFlags(&made, cudaEventDisableTiming), "cudaEventCreateWithFlags");
    moving_.events.push_back(made);
    return made;
  }

  const Nccl nccl_;
  const double timeout_;
  Ranks& host_;
  std::unique_ptr<Ranks> owned_;  // the same; without close() they end all of them
  Moving moving_;
  int64_t started_ = 0;

  std::mutex mutex_;  // guards what follows
  std::condition_variable_any changed_;
  ncclComm_t communicator_ = nullptr;
  std::deque<Flight> flights_;  // in their order
  std::vector<cudaEvent_t> free_;
  std::string note_;
  double times_ = 1;  // the deadline, for what the note says

  std::jthread watcher_;  // ends before all of it
};

}  // namespace
}  // namespace plimsoll::cuda

namespace plimsoll {

void open_nccl_backend(double timeout, std::unique_ptr<Ranks>& ranks) {
  ranks = std::make_unique<cuda::NcclRanks>(timeout, ranks);
}

}  // namespace plimsoll
