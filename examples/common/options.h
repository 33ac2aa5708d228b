// The command line that the examples share.
//
//   Options options;
//   CommandLine app{"Trains a convolution net on images."};
//   add_options(app, options, {"lenet", "resnet8"});
//   return run_example(app, argc, argv, options, [&] { train(options); });
#pragma once

#include <functional>
#include <string>

#include "examples/common/command_line.h"
#include "train/options.h"

namespace plimsoll::examples {

// What the command line says: of the training itself as the trainer takes it, and what else the
// programs know.
struct Options : train::TrainOptions {
  std::string model;
  std::string data = "builtin";
  std::string augment = "none";  // of training images
  int64_t workers = 1;           // threads that prepare batches of images
  int64_t image_size = 0;        // of synthetic images; 0: the model's own. Or of a folder's
  bool grey = false;             // pictures of a folder
  int64_t batch = 0;             // examples
  // The recipe: examples/common/recipe.h.
  double learning_rate = 0;        // the highest
  double lowest_divisor = 10;      // a cosine ends at the highest / this
  std::string optimizer = "adam";  // and what it is made with
  double beta2 = 0.999, weight_decay = 0;
  std::string schedule_name = "cosine";
  int64_t warmup = -1;      // updates; -1: as many as the length asks for
  bool checkpoint = false;  // at each block
  std::string weights;      // file to begin with; empty: weights are drawn
  std::string exported;     // file for the trained weights; empty: none
  std::string json;         // file for the figures; empty: none
  std::string device = "cpu";
  int threads = 0;            // 0: as many as the machine has cores
  double comm_timeout = 120;  // seconds
  bool print_config = false;
  // Words for fields of TrainOptions, which resolve() sets.
  std::string mode = "captured", precision_name = "f32", budget_text, cost = "measured";
  bool no_graph = false;
};

// Options that every training example has; `models` are the names --model accepts, the first is
// the default; none: it is a folder.
void add_options(CommandLine& app, Options& options, const std::vector<std::string>& models);

// --device and --threads.
void add_device_options(CommandLine& app, Options& options);
void add_threads_option(CommandLine& app, Options& options);

// --budget, --plan-only, --plan-seconds, --cost, and pictures: --report, --snapshot, --trace.
void add_memory_options(CommandLine& app, Options& options);

// Once all words are known. UsageError for those that do not go together.
void resolve(Options& options);

// Parses, sets the number of threads, runs `body` and turns errors into one sentence and an exit
// code: 0 done, 2 usage, 3 data, 130 stopped by Ctrl-C, 1 anything else.
int run_example(CommandLine& app, int argc, char** argv, Options& options,
                const std::function<void()>& body);

// Refuses those of `names` that were given: UsageError "--width: --model lenet has a fixed size: it
// takes no --width. Leave it out.", where `has` is "a fixed size".
void takes_none(const CommandLine& app, const std::string& model, const char* has,
                std::initializer_list<const char*> names);

// read(), with the option in front of what is wrong with its data: "--data text:a.txt: text: ...".
// `of_run`: the command line does not say it, but a run, which may have begun in another folder.
template <class Read>
auto naming_data(const Options& options, const Read& read, bool of_run = false) {
  try {
    return read();
  } catch (const DataError& e) {
    fail<DataError>("--data ", options.data, ": ", e.what(),
                    of_run ? " The run read it there: say with --data where it lies now." : "");
  }
}

// The names that --precision accepts, and what they mean.
const std::vector<std::string>& precision_names();
Precision precision_named(const std::string& name);

// The device of --device. UsageError for one that this build does not have.
Device device_named(const std::string& name);
// The same, found and ready: UsageError that says what is missing.
Device open_device(const std::string& name);

}  // namespace plimsoll::examples
