// The command line that the examples share.
//
//   Options options;
//   CommandLine app{"Trains a convolution net on images."};
//   add_options(app, options, {"lenet", "resnet8"});
//   return run_example(app, argc, argv, options, [&] { train(options); });
#pragma once

#include <functional>
#include <string>

#include "autograd/autocast.h"
#include "examples/common/command_line.h"
#include "memory/recompute/budget.h"
#include "optim/loss_scaler.h"

namespace plimsoll::examples {

struct Options {
  std::string model;
  std::string data = "builtin";
  std::string augment = "none";  // of training images
  int64_t workers = 1;           // threads that prepare batches of images
  int64_t image_size = 0;        // of synthetic images; 0: the model's own
  std::string weights;           // file to begin with; empty: weights are drawn
  std::string exported;          // file for the trained weights; empty: none
  std::string device = "cpu";
  std::string mode = "captured";
  bool no_graph = false;  // on a GPU: kernel by kernel
  std::string precision = "f32";
  std::string loss_scale;               // empty: dynamic for f16, else none
  std::string json;                     // file for the figures; empty: none
  std::string report, snapshot, trace;  // files for pictures; empty: none
  std::string budget;                   // bytes, or auto; empty: none
  std::string cost = "measured";
  double plan_seconds = BudgetOptions{}.search_seconds;
  bool plan_only = false;
  int threads = 0;  // 0: as many as the machine has cores
  uint64_t seed = 1;
  int64_t batch = 0;
  int64_t accumulate = 1;  // batches per update
  double learning_rate = 0;
  bool checkpoint = false;
  bool find_nan = false;
  double prune = 0;         // share of the weights that are 0 in the end
  std::string tensorboard;  // folder for event files; empty: none
  int64_t histograms = 0;   // updates between those in the event files; 0: none
  std::string run;          // folder of the run; empty: none
  bool resume = false;      // from resume_from: the folder of a run, or a file that it saved
  std::string resume_from;
  int64_t save_every = 0, log_every = 50;  // batches; 0: only at evaluations
  int64_t keep = 3, patience = 0;          // saves; evaluations, 0: for ever
  int64_t stop_after = 0;                  // batches of this process; 0: all
  bool print_config = false;
  std::string config;  // all options, as TOML

  bool captured() const { return mode == "captured"; }
};

// Options that every training example has; `models` are the names --model accepts, the first is
// the default.
void add_options(CommandLine& app, Options& options, const std::vector<std::string>& models);

// Parses, sets the number of threads, runs `body` and turns errors into one sentence and an exit
// code: 0 done, 2 usage, 3 data, 130 stopped by Ctrl-C, 1 anything else.
int run_example(CommandLine& app, int argc, char** argv, Options& options,
                const std::function<void()>& body);

// Refuses those of `names` that were given: UsageError "--width: --model lenet has a fixed size: it
// takes no --width. Leave it out.", where `has` is "a fixed size".
void takes_none(const CommandLine& app, const std::string& model, const char* has,
                std::initializer_list<const char*> names);

// read(), with the option in front of what is wrong with its data: "--data text:a.txt: text: ...".
template <class Read>
auto naming_data(const Options& options, const Read& read) {
  try {
    return read();
  } catch (const DataError& e) {
    fail<DataError>("--data ", options.data, ": ", e.what());
  }
}

// The names that --precision accepts, and what they mean.
const std::vector<std::string>& precision_names();
Precision precision_named(const std::string& name);

// What --loss-scale asks for, as "dynamic", "none" or a number.
std::string loss_scale_of(const Options& options);
// The same, made.
optim::LossScaler make_scaler(const Options& options);

// The device of --device. UsageError for one that this build does not have.
Device device_named(const std::string& name);
// The same, found and ready: UsageError that says what is missing.
Device open_device(const std::string& name);

}  // namespace plimsoll::examples
