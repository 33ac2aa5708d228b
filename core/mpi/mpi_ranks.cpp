// Ranks over MPI: core/ranks/mpi.h. One thread owns MPI, from MPI_Init_thread to MPI_Finalize, so
// MPI_THREAD_FUNNELED is enough. It runs what was started in that order, one after another, and
// tests it, with short sleeps between: processes that share cores do not spin, bytes move while
// others compute (MPI moves none where nobody asks it), and a deadline is ours (MPI has none, and
// hangs for ever where a rank was stopped or a cable cut).
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <limits>
#include <mutex>
#include <thread>

#include "core/base/error.h"
#include "core/ranks/mpi.h"

namespace plimsoll {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kTimedOut = 4;  // exit code
// Between two questions, or a sixteenth of what was waited already: each wakes a thread where
// others compute.
constexpr std::chrono::microseconds kPause{50}, kLongestPause{2000};
constexpr int kRarer = 16;
constexpr std::chrono::seconds kGrace{2};  // MPI_Abort may hang itself
constexpr double kStartTimes = 10;         // longer: ranks start one after another

// What MPI_Abort cannot end, ends anyway.
void exit_soon(int code) {
  std::thread([code] {
    std::this_thread::sleep_for(kGrace);
    _exit(code);
  }).detach();
}

// Counts of MPI are int: bytes are counted in units that divide them.
struct Counted {
  explicit Counted(int64_t bytes) {
    while (unit < (int64_t{1} << 20) && bytes > 0 && bytes % (2 * unit) == 0) unit *= 2;
    check<ValueError>(bytes / unit <= std::numeric_limits<int>::max(),
                      "ranks: a message is too large for MPI: ", bytes, " bytes, in units of ",
                      unit, ". Use sizes that larger powers of two divide.");
    count = static_cast<int>(bytes / unit);
  }
  int64_t unit = 1;
  int count = 0;
};

class MpiRanks : public Ranks {
 public:
  explicit MpiRanks(const MpiOptions& options) : timeout_(options.timeout) {
    thread_ = std::thread([this] { own_mpi(); });
    try {
      const Ticket opened = add([this] { open(); });
      exit_unless_open();
      wait(opened);
    } catch (...) {
      thread_.join();
      throw;
    }
  }
  // Without close(), other ranks wait for this one: they must not.
  ~MpiRanks() override {
    if (!closed_) abort(1, "it has ended before its end");
    thread_.join();
  }

  int64_t rank() const override { return rank_; }
  int64_t size() const override { return size_; }
  int64_t local_size() const override { return local_size_; }
  int64_t local_rank() const override { return local_rank_; }

  Ticket start(const Collective& collective) override {
    check<UsageError>(collective.device == Device::cpu,
                      "ranks: MPI moves memory of the host, and this is of a GPU. Open them with "
                      "open_on (core/cuda/seam/cuda_ranks.h).");
    return add([this, collective, part = Counted(collective.bytes)] { move(collective, part); });
  }

  void wait(Ticket ticket) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done_ >= ticket; });
    if (error_) std::rethrow_exception(error_);
  }

  void wait_all() override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done_ == added_; });
  }

  void note(const std::string& what, double times) override {
    const std::lock_guard lock(mutex_);
    note_ = what;
    times_ = times;
  }

  // Also while something is on its way that will never come.
  [[noreturn]] void abort(int code, const std::string& sentence) override {
    say(sentence);
    exit_soon(code);
    {
      const std::lock_guard lock(mutex_);
      abort_code_ = code;
      changed_.notify_all();
    }
    while (true) std::this_thread::sleep_for(kGrace);
  }

  // MPI_Finalize may wait for a rank that was stopped meanwhile: for as long as the barrier did.
  void close() override {
    const Ticket closing = add([this] {
      MPI_Request request;
      MPI_Ibarrier(MPI_COMM_WORLD, &request);
      finish(&request, "close", kStartTimes * timeout_);  // one of them may still write
      MPI_Finalize();
      over_ = true;
    });
    const std::chrono::duration<double> most(2 * kStartTimes * timeout_);
    {
      std::unique_lock lock(mutex_);
      if (!changed_.wait_for(lock, most, [&] { return done_ >= closing; })) {
        say(cat("MPI has not ended for ", most.count(),
                " s: another rank was stopped, or the network was cut. This one ends; all is "
                "saved."));
        _exit(kTimedOut);
      }
    }
    wait(closing);  // what went wrong comes out here
    closed_ = true;
  }

 private:
  using Task = std::function<void()>;

  // On any thread: the thread that owns MPI does it after all before it.
  Ticket add(Task task) {
    const std::lock_guard lock(mutex_);
    check<StateError>(!closed_,
                      "ranks: they are closed and asked to move bytes. Close them at the end.");
    tasks_.push_back(std::move(task));
    changed_.notify_all();
    return ++added_;
  }

  void own_mpi() {
    std::unique_lock lock(mutex_);
    while (!over_) {
      changed_.wait(lock, [&] { return !tasks_.empty() || abort_code_ != 0; });
      if (abort_code_ != 0) end_all(abort_code_);
      const Task task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      std::exception_ptr error;
      try {
        task();
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      error_ = error;
      ++done_;
      changed_.notify_all();
    }
  }

  // MPI starts when all ranks do, and has no deadline either.
  void exit_unless_open() {
    const std::chrono::duration<double> most(kStartTimes * timeout_);
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, most, [&] { return done_ > 0; })) return;
    std::fprintf(stderr,
                 "ranks: MPI has not started for %g s: another process was stopped, or the network "
                 "was cut. This one ends.\n",
                 most.count());
    _exit(kTimedOut);
  }

  void open() {
    over_ = true;  // until it is open
    // Of TCP's one connection to another rank: where that has begun to send a large message, its
    // leave for one of ours waits behind that, and bytes go one way at a time.
    setenv("OMPI_MCA_btl_tcp_links", "2", /*overwrite=*/0);
    int already = 0, provided = 0;
    MPI_Initialized(&already);
    check<StateError>(!already, "ranks: MPI was started before in this process. Open it once.");
    check<StateError>(
        MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) == MPI_SUCCESS,
        "ranks: MPI does not start. Look at what it said.");
    check<StateError>(provided >= MPI_THREAD_FUNNELED,
                      "ranks: this MPI is for programs without threads. Use another one.");
    int rank = 0, size = 0, local = 0, local_rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm node = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &local);
    MPI_Comm_rank(node, &local_rank);
    MPI_Comm_free(&node);
    rank_ = rank;
    size_ = size;
    local_size_ = local;
    local_rank_ = local_rank;
    over_ = false;
  }

  void move(const Collective& collective, const Counted& part) {
    const auto& [kind, from, to, bytes, root, device] = collective;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(static_cast<int>(part.unit), MPI_BYTE, &type);
    MPI_Type_commit(&type);
    MPI_Request request;
    switch (kind) {
      case Collective::Kind::all_to_all:
        MPI_Ialltoall(from, part.count, type, to, part.count, type, MPI_COMM_WORLD, &request);
        break;
      case Collective::Kind::all_gather: {
        const bool in_place = from == static_cast<std::byte*>(to) + rank_ * bytes;
        MPI_Iallgather(in_place ? MPI_IN_PLACE : from, part.count, type, to, part.count, type,
                       MPI_COMM_WORLD, &request);
        break;
      }
      case Collective::Kind::broadcast:
        MPI_Ibcast(to, part.count, type, static_cast<int>(root), MPI_COMM_WORLD, &request);
        break;
    }
    ++moved_;
    finish(&request, cat(name_of(kind), " of ", bytes, " bytes"), times() * timeout_);
    MPI_Type_free(&type);
  }

  double times() {
    const std::lock_guard lock(mutex_);
    return moved_ == 1 ? std::max(kStartTimes, times_) : times_;
  }

  // A small message is often there at once; after that the core is left to others.
  void finish(MPI_Request* request, const std::string& what, double seconds) {
    constexpr int kAtOnce = 200;
    const auto begin = Clock::now();
    int done = 0;
    for (int64_t asked = 0;; ++asked) {
      MPI_Test(request, &done, MPI_STATUS_IGNORE);
      if (done) return;
      if (abort_code_ != 0) end_all(abort_code_);
      if (asked < kAtOnce) continue;
      const auto waited = Clock::now() - begin;
      if (std::chrono::duration<double>(waited).count() > seconds) time_out(what, seconds);
      std::this_thread::sleep_for(
          std::clamp<Clock::duration>(waited / kRarer, kPause, kLongestPause));
    }
  }

  [[noreturn]] void time_out(const std::string& what, double seconds) {
    std::string note;
    {
      const std::lock_guard lock(mutex_);
      note = note_;
    }
    say(cat("in ", what, ", its collective number ", moved_, note.empty() ? "" : ", " + note,
            ", which is not done after ", seconds,
            " s: a rank was stopped, or the network was cut or is too slow. All ranks end; resume "
            "from the newest save."));
    exit_soon(kTimedOut);
    end_all(kTimedOut);
  }

  [[noreturn]] static void end_all(int code) {
    MPI_Abort(MPI_COMM_WORLD, code);
    _exit(code);
  }

  void say(const std::string& sentence) const {
    std::fprintf(stderr, "rank %lld of %lld: %s\n", static_cast<long long>(rank_),
                 static_cast<long long>(size_), sentence.c_str());
    std::fflush(stderr);
  }

  const double timeout_;
  int64_t rank_ = 0, size_ = 1, local_size_ = 1, local_rank_ = 0;
  bool closed_ = false;
  std::atomic<int> abort_code_ = 0;

  // Of the thread that owns MPI.
  bool over_ = false;
  int64_t moved_ = 0;  // collectives

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  Ticket added_ = 0, done_ = 0;
  std::string note_;
  double times_ = 1;  // the deadline, for what the note says
  std::exception_ptr error_;

  std::thread thread_;
};

}  // namespace

std::unique_ptr<Ranks> open_mpi_backend(const MpiOptions& options) {
  return std::make_unique<MpiRanks>(options);
}

}  // namespace plimsoll
