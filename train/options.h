// What a training does, in one struct: train/trainer.h.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "autograd/autocast.h"
#include "memory/step/step.h"
#include "optim/schedule.h"
#include "train/objective.h"

namespace plimsoll::train {

struct TrainOptions {
  std::string name = "model";  // for messages and pictures
  uint64_t seed = 1;           // of the key of each batch, which dropout draws from

  // How long: times through the batches, or updates, of which one is given.
  int64_t epochs = 0, steps = 0;
  int64_t evaluate_every =
      0;                   // updates; 0: after each epoch. There is an evaluation at the end too
  int64_t patience = 0;    // evaluations in a row without a lower loss that end it; 0: none do
  int64_t stop_after = 0;  // batches after which this process saves and ends; 0: it goes on

  // The step.
  Objective objective = classification();
  Precision precision = Precision::f32;  // of activations; parameters and losses are f32
  std::string loss_scale = "";  // "dynamic", "none" or a number; "": dynamic for f16, else none
  int64_t accumulate = 1;       // batches whose gradients make one update
  // Processes that train the model together, of which this one is one: each has its share of every
  // `accumulate` batches (docs/distributed.md), which a RanksScope is for. 0: there are no ranks,
  // and batches are added from the left.
  int64_t ranks = 0;
  // What ranks share out among them instead of each having all of it (optim/ranks/shards.h): 1 the
  // optimizer's state, 2 gradients too, 3 parameters too. The same bits, and the same saves.
  int64_t shard = 0;
  double clip_norm = 0;           // most of the norm of all gradients; 0: they are not clipped
  optim::Schedule schedule = {};  // learning rates by updates made; empty: the optimizer's own
  double prune = 0;  // share of the weights that are 0 in the end: nothing is pruned in the first
                     // tenth of the updates, and all of that share from 70 % of them on
  bool captured = true;   // planned and replayed; false: op by op, eagerly, the same bits
  bool graph = true;      // on a GPU: as one graph
  bool find_nan = false;  // stops at the first op that writes NaN or infinity: train/find_nan.h

  // Memory: needs a captured step. Bytes that training and evaluation never exceed together;
  // kWhatIsFree is what the device has free. Call prepare() (train/trainer.h) before the first
  // tensor, so that all of it can be used.
  static constexpr int64_t kNoBudget = StepOptions::kNoBudget, kWhatIsFree = -1;
  int64_t budget = kNoBudget;
  BudgetOptions planning = {};  // how a plan within it is searched
  bool plan_only = false;       // prints the plan and stops before the first step

  // The run: a folder for its config, log and saves; empty: nothing is kept.
  std::string run = "";
  bool resume = false;           // goes on where there is a save, else begins
  std::string resume_from = "";  // folder or file of another run; empty: `run`
  bool evaluate_only = false;    // evaluates what resume finds; nothing is trained or written
  std::string config = "";       // text for the run's config.toml; empty: none is written
  int64_t save_every = 0;        // batches; 0: a save after each evaluation, which there is anyway
  int64_t keep = 3;              // saves that stay: the newest, and the best besides
  int64_t log_every = 50;        // batches between rows of the log; 0: a row for each evaluation
  std::string tensorboard = "";  // folder for event files; empty: none
  int64_t histograms = 0;        // updates between those in the event files; 0: none
  // What a run that goes on must have been begun with too: {"width", "128"}.
  std::vector<std::pair<std::string, std::string>> same = {};
  // What it may go on with another value of; then it says so.
  std::vector<std::pair<std::string, std::string>> noted = {};

  // Files for pictures of a step's memory (train/pictures/pictures.h); empty: none.
  std::string report = "", snapshot = "", trace = "";
  std::string note = "";  // for their titles: "checkpoint at each block"
};

}  // namespace plimsoll::train
