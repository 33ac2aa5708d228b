// Training by several processes that mpirun or srun has started: docs/distributed.md.
//
//   add_rank_options(app, options);
//   Launched launched;
//   launched.open(options);            // before the first tensor
//   train(options);
//   launched.close();
#pragma once

#include <memory>
#include <optional>

#include "core/ranks/ranks.h"
#include "examples/common/options.h"

namespace plimsoll::examples {

// --ranks, --shard and --comm-timeout.
void add_rank_options(CommandLine& app, Options& options);

// How many processes a launcher started, as it says: 1 without one.
int64_t launched_processes();

// The ranks of this process, which outlive whatever is thrown.
class Launched {
 public:
  // Nothing where no ranks are asked for, or they are only planned. Threads, unless they are given,
  // are the cores of this machine shared out among its ranks. Of all ranks but the first, standard
  // output is closed and the files of `options` forgotten. UsageError where the launcher started
  // another number of processes.
  void open(Options& options);
  void close();
  bool first() const { return !ranks_ || ranks_->rank() == 0; }

  // Ends with an error: prints it and returns the exit code, or ends all ranks. One that all of
  // them meet is printed once.
  int failed(int code, const std::string& sentence);

 private:
  std::unique_ptr<Ranks> ranks_;
  std::optional<RanksScope> scope_;
};

}  // namespace plimsoll::examples
