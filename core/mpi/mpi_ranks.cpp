// Ranks over MPI: core/ranks/mpi.h. One thread owns MPI, from MPI_Init_thread to MPI_Finalize, so
// MPI_THREAD_FUNNELED is enough. It starts one collective at a time and tests it, with short sleeps
// between: processes that share cores do not spin, and a deadline is ours (MPI has none, and hangs
// for ever where a rank was stopped or a cable cut).
#include <mpi.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <functional>
#include <limits>
#include <mutex>
#include <thread>

#include "core/base/error.h"
#include "core/ranks/mpi.h"

namespace plimsoll {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kTimedOut = 4;                     // exit code
constexpr std::chrono::microseconds kPause{50};  // between two questions
constexpr std::chrono::seconds kGrace{2};        // MPI_Abort may hang itself
constexpr double kFirstTimes = 10;               // longer: ranks start one after another

// What MPI_Abort cannot end, ends anyway.
void exit_soon(int code) {
  std::thread([code] {
    std::this_thread::sleep_for(kGrace);
    _exit(code);
  }).detach();
}

// Counts of MPI are int: bytes are counted in units that divide them.
class Counted {
 public:
  explicit Counted(int64_t bytes) {
    int64_t unit = 1;
    while (unit < (int64_t{1} << 20) && bytes > 0 && bytes % (2 * unit) == 0) unit *= 2;
    check<ValueError>(bytes / unit <= std::numeric_limits<int>::max(),
                      "ranks: a message is too large for MPI: ", bytes, " bytes, in units of ",
                      unit, ". Use sizes that larger powers of two divide.");
    count = static_cast<int>(bytes / unit);
    MPI_Type_contiguous(static_cast<int>(unit), MPI_BYTE, &type);
    MPI_Type_commit(&type);
  }
  ~Counted() { MPI_Type_free(&type); }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

  int count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
};

class MpiRanks : public Ranks {
 public:
  explicit MpiRanks(const MpiOptions& options) : timeout_(options.timeout) {
    thread_ = std::thread([this] { own_mpi(); });
    try {
      call("start", [this] { start(); });
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

  void all_to_all(const void* from, void* to, int64_t bytes) override {
    collective("all_to_all", bytes, [=](const Counted& part, MPI_Request* request) {
      return MPI_Ialltoall(from, part.count, part.type, to, part.count, part.type, MPI_COMM_WORLD,
                           request);
    });
  }
  void all_gather(const void* from, void* to, int64_t bytes) override {
    const bool in_place = from == static_cast<std::byte*>(to) + rank_ * bytes;
    collective("all_gather", bytes, [=](const Counted& part, MPI_Request* request) {
      return MPI_Iallgather(in_place ? MPI_IN_PLACE : from, part.count, part.type, to, part.count,
                            part.type, MPI_COMM_WORLD, request);
    });
  }
  void broadcast(void* data, int64_t bytes, int64_t root) override {
    collective("broadcast", bytes, [=](const Counted& part, MPI_Request* request) {
      return MPI_Ibcast(data, part.count, part.type, static_cast<int>(root), MPI_COMM_WORLD,
                        request);
    });
  }

  void note(const std::string& what) override {
    const std::lock_guard lock(mutex_);
    note_ = what;
  }

  [[noreturn]] void abort(int code, const std::string& sentence) override {
    say(sentence);
    call("abort", [code] {
      exit_soon(code);
      MPI_Abort(MPI_COMM_WORLD, code);
    });
    _exit(code);
  }

  void close() override {
    call("close", [this] {
      MPI_Request request;
      MPI_Ibarrier(MPI_COMM_WORLD, &request);
      wait(&request, "close", kFirstTimes * timeout_);  // one of them may still write a save
      MPI_Finalize();
    });
    closed_ = true;
  }

 private:
  // On any thread: `what` is done by the thread that owns MPI, and what it throws thrown here.
  void call(const char* name, const std::function<void()>& what) {
    std::unique_lock lock(mutex_);
    name_ = name;
    error_ = nullptr;
    asked_ = &what;
    changed_.notify_all();
    changed_.wait(lock, [&] { return !asked_; });
    if (error_) std::rethrow_exception(error_);
  }

  void own_mpi() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return asked_ != nullptr; });
      const std::function<void()>& what = *asked_;
      const std::string name = name_;
      lock.unlock();
      std::exception_ptr error;
      try {
        what();
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      error_ = error;
      asked_ = nullptr;
      changed_.notify_all();
      if (name == "close" && !error) return;
      if (name == "start" && error) return;
    }
  }

  void start() {
    int already = 0, provided = 0;
    MPI_Initialized(&already);
    check<StateError>(!already, "ranks: MPI was started before in this process. Open it once.");
    check<StateError>(
        MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) == MPI_SUCCESS,
        "ranks: MPI does not start. Look at what it said.");
    check<StateError>(provided >= MPI_THREAD_FUNNELED,
                      "ranks: this MPI is for programs without threads. Use another one.");
    int rank = 0, size = 0, local = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm node = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &local);
    MPI_Comm_free(&node);
    rank_ = rank;
    size_ = size;
    local_size_ = local;
  }

  template <class Start>
  void collective(const char* name, int64_t bytes, const Start& begin) {
    call(name, [&] {
      const Counted part(bytes);
      MPI_Request request;
      begin(part, &request);
      ++calls_;
      wait(&request, cat(name, " of ", bytes, " bytes"),
           calls_ == 1 ? kFirstTimes * timeout_ : timeout_);
    });
  }

  // A small message is often there at once; after that the core is left to others.
  void wait(MPI_Request* request, const std::string& what, double seconds) {
    constexpr int kAtOnce = 200;
    const auto start = Clock::now();
    int done = 0;
    for (int64_t asked = 0;; ++asked) {
      MPI_Test(request, &done, MPI_STATUS_IGNORE);
      if (done) return;
      if (asked < kAtOnce) continue;
      if (std::chrono::duration<double>(Clock::now() - start).count() > seconds)
        time_out(what, seconds);
      std::this_thread::sleep_for(kPause);
    }
  }

  [[noreturn]] void time_out(const std::string& what, double seconds) {
    std::string note;
    {
      const std::lock_guard lock(mutex_);
      note = note_;
    }
    say(cat("in ", what, ", its collective number ", calls_, note.empty() ? "" : ", " + note,
            ", nothing has come from others for ", seconds,
            " s: a rank was stopped, or the network was cut. All ranks end; resume from the newest "
            "save."));
    exit_soon(kTimedOut);
    MPI_Abort(MPI_COMM_WORLD, kTimedOut);
    _exit(kTimedOut);
  }

  void say(const std::string& sentence) const {
    std::fprintf(stderr, "rank %lld of %lld: %s\n", static_cast<long long>(rank_),
                 static_cast<long long>(size_), sentence.c_str());
    std::fflush(stderr);
  }

  const double timeout_;
  int64_t rank_ = 0, size_ = 1, local_size_ = 1, calls_ = 0;
  bool closed_ = false;

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  const std::function<void()>* asked_ = nullptr;
  const char* name_ = "";
  std::string note_;
  std::exception_ptr error_;

  std::thread thread_;
};

}  // namespace

std::unique_ptr<Ranks> open_mpi_backend(const MpiOptions& options) {
  return std::make_unique<MpiRanks>(options);
}

}  // namespace plimsoll
