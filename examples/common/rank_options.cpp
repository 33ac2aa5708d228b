#include "examples/common/rank_options.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "core/cpu/threads.h"
#include "core/cuda/seam/cuda_ranks.h"
#include "core/ranks/mpi.h"

namespace plimsoll::examples {
namespace {

// How many processes a launcher says there are: Open MPI's, MPICH's or Slurm's; "1" without one.
std::string launched() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"})
    if (const char* size = std::getenv(name)) return size;
  return "1";
}

}  // namespace

int64_t launched_processes() {
  return std::max<int64_t>(1, std::strtoll(launched().c_str(), nullptr, 10));
}

void add_rank_options(CommandLine& app, Options& options) {
  app.add_option("--ranks", options.ranks,
                 "Processes that train together, started by mpirun -n N or srun; their number must "
                 "divide --accumulate; 0: this one alone")
      ->check(whole_number(0, kLargestBatch))
      ->capture_default_str();
  app.add_option("--shard", options.shard,
                 "What ranks share out instead of each having it: 1 the optimizer's state, 2 "
                 "gradients too, 3 parameters too; 0: nothing")
      ->check(whole_number(0, 3))
      ->capture_default_str();
  app.add_option("--comm-timeout", options.comm_timeout,
                 "Seconds that a rank waits for the others before it ends all of them")
      ->check(positive_number())
      ->capture_default_str();
}

void Launched::open(Options& options) {
  check<UsageError>(options.ranks > 0 || options.shard == 0,
                    "--shard: things are shared out among ranks, and there are none: stage ",
                    options.shard, ". Give --ranks too.");
  if (options.plan_only) return;
  check<UsageError>(options.ranks > 0 || launched() == "1", "--ranks: the launcher started ",
                    launched(), " processes, and no ranks are asked for. Give --ranks ", launched(),
                    ", or start one.");
  if (options.ranks == 0 || (options.ranks == 1 && launched() == "1")) return;
  ranks_ = open_mpi({.timeout = options.comm_timeout});
  check<UsageError>(ranks_->size() == options.ranks, "--ranks: ", options.ranks,
                    " are asked for, and the launcher started ", ranks_->size(),
                    ranks_->size() == 1 ? " (or each process by itself: mpirun of another MPI, or "
                                          "srun without --mpi=pmix or pmi2)"
                                        : "",
                    ". Start this program with mpirun -n ", options.ranks, ".");
  // A GPU for each: `cuda` is the one with the number of this rank on its machine.
  if (options.device == "cuda" && ranks_->local_rank() > 0)
    options.device = cat("cuda:", ranks_->local_rank());
  open_on(open_device(options.device), options.comm_timeout, ranks_);
  scope_.emplace(ranks_.get());
  if (options.threads == 0)
    set_num_threads(static_cast<int>(std::max<int64_t>(
        1, std::min<int64_t>(num_threads(),
                             std::thread::hardware_concurrency() / ranks_->local_size()))));
  if (ranks_->rank() == 0) return;
  options.json.clear();
  options.exported.clear();
  if (!std::freopen("/dev/null", "w", stdout)) std::fclose(stdout);
}

void Launched::close() {
  if (ranks_) ranks_->close();
  scope_.reset();
}

int Launched::failed(int code, const std::string& sentence) {
  if (!ranks_) {
    std::fprintf(stderr, "%s\n", sentence.c_str());
    return code;
  }
  std::fflush(stdout);
  // The first rank speaks for those that met the same error; then they are gone.
  if (ranks_->rank() != 0) std::this_thread::sleep_for(std::chrono::seconds(1));
  ranks_->abort(code, sentence);
  return code;  // GCC does not see that a virtual function does not return
}

}  // namespace plimsoll::examples
