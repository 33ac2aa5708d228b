// Ranks over NCCL: core/cuda/seam/cuda_ranks.h. A process has one communicator, whose id the ranks
// that exist already hand around, and a stream of its own to move bytes on, beside that of the
// kernels. Events order the two: the host never waits. So a thread watches instead, and has the
// deadline that NCCL has not: a collective has so long from when this rank was ready for it. NCCL
// adds nothing here, and sees bytes: sums are ops (ops/collective), in one order.
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

constexpr int kOldest = 21800;                   // 2.18: below it ncclConfig_t has other fields
constexpr int kTimedOut = 4;                     // exit code
constexpr std::chrono::microseconds kPause{50};  // between two questions
constexpr std::chrono::milliseconds kWatch{1};   // of the thread that watches
constexpr double kStartTimes = 10;               // longer: the first makes all connections

struct Nccl {
  Library library{{.name = "NCCL 2", .file = "libnccl.so.2", .package = "nvidia-nccl-cu13"}};
#define PLIMSOLL_NCCL(name) \
  decltype(nccl##name)* name = library.function<decltype(nccl##name)>("nccl" #name)
  PLIMSOLL_NCCL(GetVersion);
  PLIMSOLL_NCCL(GetErrorString);
  PLIMSOLL_NCCL(GetUniqueId);
  PLIMSOLL_NCCL(CommInitRankConfig);
  PLIMSOLL_NCCL(CommGetAsyncError);
  PLIMSOLL_NCCL(CommFinalize);
  PLIMSOLL_NCCL(CommDestroy);
  PLIMSOLL_NCCL(AllGather);
  PLIMSOLL_NCCL(Broadcast);
  PLIMSOLL_NCCL(Send);
  PLIMSOLL_NCCL(Recv);
  PLIMSOLL_NCCL(GroupStart);
  PLIMSOLL_NCCL(GroupEnd);
#undef PLIMSOLL_NCCL

  Nccl() {
    int version = 0;
    GetVersion(&version);
    check<DeviceError>(version >= kOldest, "cuda: NCCL is too old: 2.18 is needed, and this is ",
                       version / 10000, ".", version / 100 % 100, ".", version % 100,
                       ". Update it (pip install nvidia-nccl-cu13) and name its folder in "
                       "PLIMSOLL_CUDA_LIBRARIES.");
  }
};

class NcclRanks final : public Ranks {
 public:
  NcclRanks(double timeout, std::unique_ptr<Ranks>& host) : timeout_(timeout) {
    stream();  // opens the device
    check_cuda(cudaStreamCreateWithFlags(&moving_, cudaStreamNonBlocking),
               "cudaStreamCreateWithFlags");
    connect(*host);
    host_ = std::move(host);
    watcher_ = std::thread([this] { watch(); });
  }
  // Without close(), the host's ranks end all of them.
  ~NcclRanks() override { stop_watching(); }

  int64_t rank() const override { return host_->rank(); }
  int64_t size() const override { return host_->size(); }
  int64_t local_size() const override { return host_->local_size(); }
  int64_t local_rank() const override { return host_->local_rank(); }

  // Tickets of the host are above 0, those of the GPU below.
  Ticket start(const Collective& collective) override {
    if (collective.device != Device::cuda) return host_->start(collective);
    Flight flight{
        .collective = collective, .number = ++started_, .ready = event(), .done = event()};
    record(flight.ready, stream());
    follow(moving_, flight.ready);
    const std::string what = name_of(flight);
    move(collective, what);
    settle(what, times(flight.number) * timeout_);  // else it may not be on the stream yet
    record(flight.done, moving_);
    const std::lock_guard lock(mutex_);
    flights_.push_back(flight);
    changed_.notify_all();
    return -flight.number;
  }

  void wait(Ticket ticket) override {
    if (ticket > 0) return host_->wait(ticket);
    wait_for_last([&](const Flight& flight) { return flight.number == -ticket; });
  }
  void wait_for(const void* to) override {
    wait_for_last([&](const Flight& flight) { return flight.collective.to == to; });
  }
  void wait_all() override {
    wait_for_last([](const Flight&) { return true; });
    host_->wait_all();
  }

  void note(const std::string& what, double times) override {
    host_->note(what, times);
    const std::lock_guard lock(mutex_);
    note_ = what;
    times_ = times;
  }

  [[noreturn]] void abort(int code, const std::string& sentence) override {
    host_->abort(code, sentence);
    std::_Exit(code);  // GCC does not see that a virtual function does not return
  }

  void close() override {
    check_cuda(cudaStreamSynchronize(moving_), "cudaStreamSynchronize");
    stop_watching();
    call(nccl_.CommFinalize(communicator_), "close");
    settle("close", kStartTimes * timeout_);  // one of them may still write
    nccl_.CommDestroy(communicator_);
    host_->close();
  }

 private:
  // Started, and not seen to be done.
  struct Flight {
    Collective collective;
    int64_t number;
    cudaEvent_t ready, done;                   // all before it on this rank; itself
    std::optional<Clock::time_point> since{};  // when it was seen that all before it is done
  };

  static std::string name_of(const Flight& flight) {
    return cat(plimsoll::name_of(flight.collective.kind), " of ", flight.collective.bytes,
               " bytes between GPUs, its collective number ", flight.number);
  }

  void connect(Ranks& host) {
    ncclUniqueId id{};
    if (host.rank() == 0) check_start(nccl_.GetUniqueId(&id));
    host.broadcast(&id, sizeof id, 0);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;  // else it would wait for ever for a rank that does not come
    check_start(nccl_.CommInitRankConfig(&communicator_, static_cast<int>(host.size()), id,
                                         static_cast<int>(host.rank()), &config));
    const auto begin = Clock::now();
    ncclResult_t state = ncclInProgress;
    while (state == ncclInProgress) {
      check_start(nccl_.CommGetAsyncError(communicator_, &state));
      check<DeviceError>(seconds_since(begin) <= kStartTimes * timeout_,
                         "cuda: NCCL has not started for ", kStartTimes * timeout_,
                         " s: another rank was stopped, or the network was cut. Start again.");
      std::this_thread::sleep_for(kPause);
    }
    check_start(state);
  }
  void check_start(ncclResult_t result) const {
    check<DeviceError>(result == ncclSuccess || result == ncclInProgress,
                       "cuda: NCCL does not start: ", nccl_.GetErrorString(result),
                       ". Give every rank a GPU of its own; NCCL_DEBUG=WARN says more.");
  }

  void move(const Collective& collective, const std::string& what) {
    const auto& [kind, from, to, bytes, root, device] = collective;
    const auto size = static_cast<size_t>(bytes);
    switch (kind) {
      case Collective::Kind::all_gather:
        return call(nccl_.AllGather(from, to, size, ncclUint8, communicator_, moving_), what);
      case Collective::Kind::broadcast:
        return call(nccl_.Broadcast(to, to, size, ncclUint8, static_cast<int>(root), communicator_,
                                    moving_),
                    what);
      case Collective::Kind::all_to_all:
        call(nccl_.GroupStart(), what);
        for (int r = 0; r < static_cast<int>(this->size()); ++r) {
          const auto* const sent = static_cast<const std::byte*>(from) + r * bytes;
          auto* const received = static_cast<std::byte*>(to) + r * bytes;
          call(nccl_.Send(sent, size, ncclUint8, r, communicator_, moving_), what);
          call(nccl_.Recv(received, size, ncclUint8, r, communicator_, moving_), what);
        }
        call(nccl_.GroupEnd(), what);
    }
  }

  void call(ncclResult_t result, const std::string& what) {
    if (result != ncclSuccess && result != ncclInProgress) fail_all(what, result);
  }

  // Until NCCL has done what it was asked for on the host, in a thread of its own.
  void settle(const std::string& what, double seconds) {
    const auto begin = Clock::now();
    while (true) {
      ncclResult_t state = ncclSuccess;
      call(nccl_.CommGetAsyncError(communicator_, &state), what);
      if (state == ncclSuccess) return;
      call(state, what);
      if (seconds_since(begin) > seconds) time_out(what, seconds);
      std::this_thread::sleep_for(kPause);
    }
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

  void watch() {
    stream();  // makes the device that of this thread
    std::unique_lock lock(mutex_);
    while (!over_) {
      changed_.wait(lock, [&] { return over_ || !flights_.empty(); });
      if (!over_) look(lock);
      changed_.wait_for(lock, kWatch, [&] { return over_; });
    }
  }

  // At the oldest. A kernel that failed is no business of this thread: who waits for it is told.
  void look(std::unique_lock<std::mutex>& lock) {
    while (!flights_.empty() && cudaEventQuery(flights_.front().done) != cudaErrorNotReady) {
      free_.push_back(flights_.front().ready);
      free_.push_back(flights_.front().done);
      flights_.pop_front();
    }
    if (flights_.empty()) return;
    Flight& oldest = flights_.front();
    if (!oldest.since && cudaEventQuery(oldest.ready) != cudaErrorNotReady)
      oldest.since = Clock::now();
    const std::string what = name_of(oldest);
    const double waited = oldest.since ? seconds_since(*oldest.since) : 0;
    const int64_t number = oldest.number;
    lock.unlock();
    ncclResult_t state = ncclSuccess;
    call(nccl_.CommGetAsyncError(communicator_, &state), what);
    call(state, what);
    if (const double most = times(number) * timeout_; waited > most) time_out(what, most);
    lock.lock();
  }

  double times(int64_t number) {
    const std::lock_guard lock(mutex_);
    return number == 1 ? std::max(kStartTimes, times_) : times_;
  }

  // ncclCommAbort is not called: a collective that it ends looks to the stream as if it had moved
  // its bytes, and a step that goes on with what is not there may be saved. The process ends, and
  // takes communicator and kernels along.
  [[noreturn]] void end_all(int code, const std::string& what, const std::string& why) {
    std::string note;
    {
      const std::lock_guard lock(mutex_);
      note = note_;
    }
    abort(code, cat("in ", what, note.empty() ? "" : ", " + note, ", ", why,
                    " All ranks end; resume from the newest save."));
  }
  [[noreturn]] void time_out(const std::string& what, double seconds) {
    end_all(kTimedOut, what,
            cat("nothing has come from others for ", seconds,
                " s: a rank was stopped, or the network was cut."));
  }
  [[noreturn]] void fail_all(const std::string& what, ncclResult_t result) {
    end_all(
        1, what,
        cat("NCCL met an error: ", nccl_.GetErrorString(result), ". NCCL_DEBUG=WARN says more."));
  }

  static double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }
  static void record(cudaEvent_t event, cudaStream_t on) {
    check_cuda(cudaEventRecord(event, on), "cudaEventRecord");
  }
  static void follow(cudaStream_t later, cudaEvent_t event) {
    check_cuda(cudaStreamWaitEvent(later, event, 0), "cudaStreamWaitEvent");
  }
  cudaEvent_t event() {
    const std::lock_guard lock(mutex_);
    if (free_.empty())
      check_cuda(cudaEventCreateWithFlags(&free_.emplace_back(), cudaEventDisableTiming),
                 "cudaEventCreateWithFlags");
    const cudaEvent_t taken = free_.back();
    free_.pop_back();
    return taken;
  }

  void stop_watching() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
      changed_.notify_all();
    }
    if (watcher_.joinable()) watcher_.join();
  }

  const Nccl nccl_;
  const double timeout_;
  std::unique_ptr<Ranks> host_;
  ncclComm_t communicator_ = nullptr;
  cudaStream_t moving_ = nullptr;
  int64_t started_ = 0;

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<Flight> flights_;  // in their order
  std::vector<cudaEvent_t> free_;
  std::string note_;
  double times_ = 1;  // the deadline, for what the note says
  bool over_ = false;

  std::thread watcher_;
};

}  // namespace
}  // namespace plimsoll::cuda

namespace plimsoll {

void open_nccl_backend(double timeout, std::unique_ptr<Ranks>& ranks) {
  ranks = std::make_unique<cuda::NcclRanks>(timeout, ranks);
}

}  // namespace plimsoll
