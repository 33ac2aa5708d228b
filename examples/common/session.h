// Session: what a training program does around its step: counts batches, shows how it goes, logs,
// evaluates, draws curves, saves, resumes, stops early or when asked to, reports.
//
//   Session session(options, {.unit = "epoch", .unit_batches = steps, ...}, pool);
//   session.state().tensors("", model->named_parameters());
//   session.state().tensors("optimizer.", optimizer.state());
//   session.begin();
//   while (session.running()) {
//     const int64_t number = session.batches();
//     const Loss loss = step.train(number, {x(number), y(number), key(number)}).loss;
//     session.trained(loss, labels, rate);
//     if (session.evaluation_due()) session.evaluate(step, test_batches);
//     session.save_when_due();
//   }
//   if (session.finish(facts, skipped)) weights.write(*model);
#pragma once

#include <deque>
#include <optional>

#include "data/batch.h"
#include "examples/common/progress.h"
#include "examples/common/report.h"
#include "examples/common/run_options.h"
#include "examples/common/runner.h"
#include "examples/common/tensorboard.h"
#include "train/early_stop.h"
#include "train/log.h"
#include "train/metrics.h"
#include "train/run_folder.h"
#include "train/saves.h"
#include "train/stop_request.h"

namespace plimsoll::examples {

// How long a run is: batches in all and between evaluations, and the words for them.
struct RunLength {
  const char* unit;      // "epoch", "step": what messages count in
  int64_t unit_batches;  // batches in one
  int64_t batches;       // in all
  int64_t round;         // batches between evaluations; there is one at the end too
  const char* held_out;  // "test", "validation"
  const char* amount;    // "images/s"
  int64_t batch_amount;  // of it in a batch
  bool perplexity = false;
};

// What a report says about the options.
Json facts(const Options& options);

class Session {
 public:
  // The next batch to evaluate on; nothing after the last.
  using Batches = std::function<std::optional<data::Batch>()>;

  // Refuses files and folders now that could not be written later: UsageError.
  Session(const Options& options, const RunLength& length, PooledAllocator& pool);

  // What is saved besides the session's own: fill it before begin().
  train::State& state() { return state_; }
  // Restores, where --resume asks for it. Errors: as State::restore().
  void begin();
  // Nothing will be refused any more: opens config, log and saves. Peaks and times count from here.
  void planned(const Planned& planned);

  // Batches trained so far, in all runs: the number of the next.
  int64_t batches() const { return batches_; }
  // Whether there is a next batch: not at the end, after Ctrl-C, or when patience is over.
  bool running() const;

  // One more batch, with `labels` labels and this mean loss. A loss that is not known yet is looked
  // at when kMostPendingLosses others have come after it, and before anything is saved or
  // evaluated: so the host goes on while a GPU computes.
  static constexpr size_t kMostPendingLosses = 2;
  void trained(const Loss& loss, int64_t labels, const AsyncReadBack& learning_rate);
  // Whether histograms of the gradients of this update, from 0, are wanted; and these, once its
  // last batch was trained: nothing where there are no gradients.
  bool histograms_due(int64_t update) const;
  void histograms(const std::vector<NamedTensor>& parameters, std::span<const Tensor> gradients);
  bool evaluation_due() const { return evaluation_due(batches_); }
  // What `step` evaluates to (loss, guesses) on all of the batches.
  void evaluate(Runner& step, const Batches& next);
  void save_when_due();

  // Saves the end and waits for it. Where training is over, writes the report: `facts`, a row for
  // each evaluation of the run, in this process or one before it, and final figures, the updates
  // that loss scaling `skipped` among them; peaks and seconds are this process's. Where it was
  // stopped, says how it goes on, after Ctrl-C as a train::Interrupted. Returns whether it is over.
  bool finish(Json facts, int64_t skipped);

 private:
  struct Trained {  // one batch
    Loss loss;
    int64_t batches, labels;
    AsyncReadBack learning_rate;
  };
  bool evaluation_due(int64_t batches) const;
  void drain_losses(size_t most_left);  // losses, until so many are not looked at
  void count_loss(const Trained& batch);
  void save();
  // The report's row for an evaluation after so many batches; `figures` has names of the log.
  Json row(int64_t batches, const Json& figures) const;
  void rows_of_before();

  const Options& options_;
  const RunLength length_;
  PooledAllocator& pool_;
  const ReportFile report_;
  TensorBoard board_;
  std::optional<train::RunFolder> run_;
  std::optional<train::Saves> saves_;
  std::optional<train::Log> log_;
  std::optional<Progress> progress_;
  const train::StopRequest stop_;

  // What is saved and restored.
  int64_t batches_ = 0;
  train::Mean round_loss_;  // since the last evaluation
  double mean_loss_ = 0;    // of the round before
  train::Score score_;      // of the last evaluation
  train::EarlyStop early_;
  train::State state_;

  std::deque<Trained> trained_;  // whose losses were not looked at
  int64_t first_ = 0;            // batch of this process
  int64_t saved_ = -1;           // batches at the last save of this run; -1: none
  bool best_ = false;            // whether the last evaluation, just made, was
  double loss_ = 0, rate_ = 0;
  Planned planned_;
  int64_t peak_ = 0, evaluation_peak_ = 0;
  Json rows_ = Json::array();
  std::chrono::steady_clock::time_point start_;
};

}  // namespace plimsoll::examples
