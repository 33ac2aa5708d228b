// Trainer: the loop that everyone writes, once. Epochs or steps, evaluations, mixed precision,
// accumulation, a budget of bytes, saves and going on where they end, logs, Ctrl-C.
//
//   data::Loader training(images.train, {.batch = 64, .shuffle = true, .drop_last = true});
//   data::Loader test(images.test, {.batch = 64});
//   optim::AdamW optimizer(model.parameters());
//   train::Trainer trainer(model, optimizer, train::batches(training), train::batches(test),
//                          {.epochs = 5, .budget = int64_t{30} << 20, .run = "runs/a"});
//   const train::Result result = trainer.run();
//
// It is made of parts that can be used without it: TrainingStep (what a batch does), Runner
// (eager or captured), Budget (planning), Journal (what is said), State and Saves (what is kept).
#pragma once

#include <deque>
#include <memory>

#include "optim/parameter_groups.h"
#include "train/batches.h"
#include "train/budget.h"
#include "train/early_stop.h"
#include "train/log/journal.h"
#include "train/metrics.h"
#include "train/options.h"
#include "train/ranks/group.h"
#include "train/run_folder.h"
#include "train/saves.h"
#include "train/stop_request.h"
#include "train/training_step.h"

namespace plimsoll::train {

class FindNan;
class Pictures;

struct Result {
  bool over = false;                    // false: it was stopped before its end, or only planned
  std::vector<Evaluation> evaluations;  // of the whole run
  Evaluation last;                      // the last of them, without metrics of the user's own
  Planned planned;                      // bytes
  int64_t peak_bytes = 0, evaluation_peak_bytes = 0;  // of this process, in the pool
  int64_t skipped = 0;                                // updates that loss scaling left out
  double seconds = 0;                                 // of this process
  // Of each rank, this one's as above; empty where there are none.
  struct RankBytes {
    int64_t planned, peak, evaluation_planned, evaluation_peak;
  };
  std::vector<RankBytes> ranks;
};

// How many updates such a training makes at most: what a schedule is made for. ValueError unless
// one of epochs and steps is given, and epochs only where batches end.
int64_t updates_of(const TrainOptions& options, const Batches& training);

// Before the first tensor, so that a budget can be used to its last byte and the picture of an
// eager run begins at its beginning. Without it training stays within its budget too.
void prepare(PooledAllocator& pool, const TrainOptions& options);

class Trainer {
 public:
  // Model and what batches come from outlive this. All training batches are of one size. Refuses
  // now what could not be had later. UsageError: files or folders that cannot be made, options that
  // do not go together, ranks that are not there; ValueError: numbers out of range, no batches.
  Trainer(nn::Module& model, optim::ParameterGroups optimizer, Batches training, Batches held_out,
          TrainOptions options);
  ~Trainer();

  // Refuses, before a weight is drawn, a budget of bytes that is less than what such a training
  // holds all the time: model and optimizer are those on Device::null. UsageError as
  // Budget::plan().
  static void check_held(nn::Module& model, const optim::ParameterGroups& optimizer,
                         Batches training, Batches held_out, TrainOptions options);

  // What is saved besides model, optimizer and the training itself: add to it before run().
  State& state() { return state_; }

  // Goes on where that is asked for, plans, and trains to the end. Called once. Of ranks the first
  // alone has the folder and the files; all of them know the losses. Errors: as
  // State::restore() and Budget::plan(); NumericError for a loss that is not finite; DataError for
  // a disk that is full; Interrupted after Ctrl-C, when all is saved.
  Result run();

  // Masks of a training that prunes, to strip and to count; nothing where it does not.
  std::optional<optim::Pruner>& pruner() { return step_.pruner(); }

 private:
  struct Trained {  // one batch
    Loss loss;
    int64_t batches, labels;
    AsyncReadBack learning_rate;
  };
  // A loss that is not known yet is looked at when so many others have come after it, and before
  // anything is saved or evaluated: so the host goes on while a GPU computes.
  static constexpr size_t kMostPendingLosses = 2;

  void restore();
  void say_ranks() const;
  Workload workload();
  Planned plan();
  void agree();
  void open(const Planned& planned);
  void train_all();
  Runner::Trained train_batch(FindNan& find_nan, int64_t number, bool last, bool drawn);
  void train_alone(FindNan& find_nan);
  void train_window(FindNan& find_nan);
  bool draws(int64_t number) const;  // histograms, where batch `number` makes an update
  void draw(const std::vector<Tensor>& gradients);
  void drain_losses(size_t most_left);
  bool over() const { return batches_ >= length_.batches || early_.reached(); }
  bool running() const;
  bool stop_asked() const { return group_.asked() ? stop_agreed_ : stop_->requested(); }
  // Whether a multiple of so many batches was reached by what was trained last: a batch, or a
  // window of ranks, which nothing comes between.
  bool reached(int64_t batches) const;
  // The state was saved before an evaluation that did not come to its end.
  bool evaluation_missing() const {
    return batches_ > 0 && length_.evaluation_after(batches_) && round_loss_.count > 0;
  }
  void look_at_updates();
  Result evaluate_only();
  bool evaluate();  // false: it was left, as a stop was asked for
  std::vector<double> evaluate_share();
  std::vector<double> evaluate_batch(int64_t number);
  Evaluation last() const;
  void save();  // with the other ranks, of which the first writes
  void gather_parameters();
  Result finish();

  const RankGroup group_;
  nn::Module& model_;
  const TrainOptions options_;
  const Batches training_, held_out_;
  const Windows windows_;
  const RunLength length_;
  optim::ParameterGroups optimizer_;
  const Device device_;
  const std::string weights_;  // their hash as they came, of ranks
  PooledAllocator& pool_;
  const std::unique_ptr<RunFolder> folder_;
  const std::unique_ptr<Pictures> pictures_;
  Budget budget_;
  TrainingStep step_;
  Runner runner_;
  Journal journal_;
  std::optional<Saves> saves_;
  std::optional<StopRequest> stop_;  // while there is something to save: before, a signal ends it

  // What is saved and restored.
  int64_t batches_ = 0;   // trained, in all processes: the number of the next
  Mean round_loss_;       // since the last evaluation
  double mean_loss_ = 0;  // of the round before
  Score score_;           // of the last evaluation
  EarlyStop early_;
  State state_;

  static constexpr int64_t kManyLeftOut = 20;  // more than a dynamic scale needs to settle
  int64_t made_ = 0, left_out_in_a_row_ = 0;   // updates
  std::deque<Trained> trained_;                // whose losses were not looked at
  int64_t labels_ = 0;                         // of the batch that was trained last
  int64_t first_ = 0;                          // batch of this process
  bool resumed_ = false;                       // from a save
  bool keeps_ = false;                         // there is a folder, here or on the first rank
  int64_t saved_ = -1;                         // batches at the last save of this run; -1: none
  bool best_ = false;                          // whether the last evaluation, just made, was
  bool stop_agreed_ = false;                   // by ranks
  Result result_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace plimsoll::train
