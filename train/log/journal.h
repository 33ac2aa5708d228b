// Journal: everything that is said about a training while it runs: the line on the console, the
// log, the event files, and the figures of each evaluation.
//
//   Journal journal(options, length, pool);
//   journal.open(run_folder, batches, planned.training);
//   journal.trained(120, 2.31, 1e-3);
//   journal.evaluated(evaluation);
#pragma once

#include <chrono>
#include <optional>

#include "core/tensor/named_tensor.h"
#include "formats/events.h"
#include "memory/pool/pooled_allocator.h"
#include "train/log/log.h"
#include "train/log/progress.h"
#include "train/options.h"
#include "train/windows.h"

namespace plimsoll::train {

// The words and numbers that messages count a training in.
struct RunLength {
  const char* unit;      // "epoch", "step"
  int64_t unit_batches;  // batches in one
  int64_t batches;       // in all
  Windows windows;
  int64_t evaluate_every;  // updates; 0: where the unit ends
  std::string split;       // what evaluations are of: "test"
  std::string item;        // what a batch has `items` of: "images"
  int64_t items;

  // Whether there is an evaluation after so many batches.
  bool evaluation_after(int64_t done) const {
    if (done >= batches) return true;
    if (evaluate_every == 0) return windows.epoch > 0 && done % windows.epoch == 0;
    return windows.part(done) == 0 && windows.before(done) % evaluate_every == 0;
  }
};

// What an evaluation found. Means are over labels, not over batches.
struct Evaluation {
  int64_t batches = 0;   // trained until then
  double mean_loss = 0;  // of the training, since the evaluation before
  Figures figures{};  // "val_loss", and "accuracy", "perplexity" and metrics, where there are such
  double at(const std::string& name) const;  // NaN where there is none
};

class Journal {
 public:
  // UsageError for event files that cannot be made.
  Journal(const TrainOptions& options, const RunLength& length, PooledAllocator& pool);

  // From here on for batches after the first `done`. `folder`: of the run; empty: there is no log.
  // `evaluated`: as far as its log is true, `done` or less.
  void open(const std::filesystem::path& folder, int64_t done, int64_t evaluated,
            int64_t planned_bytes);

  void trained(int64_t batches, double loss, double learning_rate);  // after so many batches
  // Every value of these parameters and their gradients.
  void histograms(int64_t batches, const std::vector<NamedTensor>& parameters,
                  std::span<const Tensor> gradients);
  void evaluating(int64_t batches);  // the console's line ends; the peak goes into the event files
  void say(const std::string& sentence);  // on a line of its own
  void evaluated(const Evaluation& evaluation);

  // Of the last batch, to be saved: an evaluation may follow in another process.
  double& loss() { return loss_; }
  double& learning_rate() { return rate_; }
  // Of the whole run: those of processes before this one from its log.
  const std::vector<Evaluation>& evaluations() const { return evaluations_; }

 private:
  void begin_row(int64_t batches);
  Figures measured(int64_t batches) const;  // since then

  const TrainOptions& options_;
  const RunLength length_;
  PooledAllocator& pool_;
  std::optional<formats::EventWriter> events_;  // for TensorBoard
  std::optional<Log> log_;
  std::optional<Progress> progress_;
  std::vector<Evaluation> evaluations_;
  int64_t first_ = 0, planned_bytes_ = 0;
  double loss_ = 0, rate_ = 0;  // of the last batch

  // Of the next row of the log.
  int64_t row_first_ = 0;  // batches before it
  std::chrono::steady_clock::time_point row_start_;
  std::optional<PeakScope> row_peak_;
  Figures row_measured_;  // when the evaluation began
};

}  // namespace plimsoll::train
