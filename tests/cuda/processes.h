// Ranks that are processes of their own, without MPI, as for a simulated GPU each: children of the
// test, which starts no threads itself.
//
//   const auto all = run_processes(2, [](std::unique_ptr<Ranks> ranks) { ...; return text; });
//   for (const Ended& rank : all) EXPECT_EQ(rank.left, "7 8");
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/ranks/ranks.h"
#include "tests/cuda/process_meeting.h"

namespace plimsoll {

// Of the host's memory alone.
class ProcessRanks : public Ranks {
 public:
  ProcessRanks(const std::string& file, int rank, int size)
      : meeting_(file, rank, size), rank_(rank), size_(size) {}
  int64_t rank() const override { return rank_; }
  int64_t size() const override { return size_; }
  int64_t local_size() const override { return size_; }

  Ticket start(const Collective& c) override {
    check<StateError>(c.device == Device::cpu, "the host's ranks got memory of a GPU");
    const auto bytes = static_cast<size_t>(c.bytes);
    std::vector<ProcessMeeting::Sent> sent(static_cast<size_t>(size_));
    std::vector<ProcessMeeting::Received> received(static_cast<size_t>(size_));
    for (int r = 0; r < size_; ++r) {
      const auto part = static_cast<size_t>(r) * bytes;
      const auto* from = static_cast<const std::byte*>(c.from);
      if (c.kind == Collective::Kind::all_to_all) from += part;
      if (c.kind != Collective::Kind::broadcast) {
        sent[static_cast<size_t>(r)] = {from, bytes};
        received[static_cast<size_t>(r)] = {static_cast<std::byte*>(c.to) + part, bytes};
      } else if (rank_ == c.root) {
        sent[static_cast<size_t>(r)] = {c.to, bytes};
      }
    }
    if (c.kind == Collective::Kind::broadcast)
      received[static_cast<size_t>(c.root)] = {c.to, bytes};
    const std::string wrong = meeting_.exchange(name_of(c.kind), sent, received);
    check<StateError>(wrong.empty(), wrong);
    return 1;
  }
  void wait(Ticket) override {}
  void wait_all() override {}
  [[noreturn]] void abort(int code, const std::string& sentence) override {
    std::fprintf(stderr, "rank %d of %d: %s\n", rank_, size_, sentence.c_str());
    _exit(code);
  }
  void close() override {
    int64_t nothing = 0;
    gathered(*this, nothing);
  }

 private:
  ProcessMeeting meeting_;
  const int rank_, size_;
};

struct Ended {
  int code = 0;
  std::string said, left;  // on stderr; what f returned
};

// f in each of n processes. Where one fails the others have some time to notice; then they are
// killed, as a launcher would, and have the code 137.
inline std::vector<Ended> run_processes(
    int n, const std::function<std::string(std::unique_ptr<Ranks>)>& f,
    std::chrono::milliseconds patience = std::chrono::seconds(3)) {
  char name[] = "/dev/shm/plimsoll_ranks_XXXXXX";
  const std::string folder = mkdtemp(name);
  std::vector<pid_t> children;
  for (int rank = 0; rank < n; ++rank) {
    const std::string own = folder + "/" + std::to_string(rank);
    children.push_back(fork());
    if (children.back() != 0) continue;
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // none outlives the test
    setenv("SIMULATED_NCCL_FOLDER", folder.c_str(), 1);
    dup2(open((own + ".said").c_str(), O_CREAT | O_WRONLY, 0600), STDERR_FILENO);
    dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
    int code = 0;
    try {
      const std::string left = f(std::make_unique<ProcessRanks>(folder + "/meeting", rank, n));
      std::ofstream(own) << left;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      code = 9;
    }
    _exit(code);
  }
  std::vector<Ended> ended(static_cast<size_t>(n));
  std::vector<bool> over(static_cast<size_t>(n));
  for (int missing = n, rounds = 0; missing > 0;) {
    for (size_t r = 0; r < over.size(); ++r) {
      int status = 0;
      if (over[r] || waitpid(children[r], &status, WNOHANG) != children[r]) continue;
      over[r] = true;
      --missing;
      ended[r].code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      rounds += rounds == 0 && ended[r].code != 0;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    if (rounds > 0 && ++rounds > patience.count() / 10)
      for (size_t r = 0; r < over.size(); ++r)
        if (!over[r]) kill(children[r], SIGKILL);
  }
  const auto text = [](const std::string& path) {
    std::stringstream all;
    all << std::ifstream(path).rdbuf();
    return all.str();
  };
  for (size_t r = 0; r < ended.size(); ++r) {
    ended[r].said = text(folder + "/" + std::to_string(r) + ".said");
    ended[r].left = text(folder + "/" + std::to_string(r));
  }
  std::filesystem::remove_all(folder);
  return ended;
}

}  // namespace plimsoll
