#include "examples/common/options.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <new>

#include "core/base/error.h"
#include "core/cpu/parallel.h"
#include "core/cuda/seam/cuda.h"
#include "examples/common/rank_options.h"
#include "examples/common/run_options.h"
#include "train/json.h"
#include "train/stop_request.h"

namespace plimsoll::examples {

namespace {

Check budget() {
  const Check size = size_in_bytes("300MiB, nor auto");
  return {[size](std::string& text) { return text == "auto" ? "" : size.fault(text); }, ""};
}

// A program may be started without them, and then the next file that it opens would be written over
// by its messages.
void open_standard_files() {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(number, F_GETFD) < 0) (void)!open("/dev/null", O_RDWR);  // the lowest that is free
}

}  // namespace

void add_threads_option(CommandLine& app, Options& options) {
  app.add_option("--threads", options.threads, "CPU threads; 0: one per core")
      ->check(whole_number(0, 4096))
      ->capture_default_str();
}

void add_device_options(CommandLine& app, Options& options) {
  app.add_option("--device", options.device, "cpu, cuda, or cuda:1 and so on")
      ->capture_default_str();
  add_threads_option(app, options);
}

void add_options(CommandLine& app, Options& options, const std::vector<std::string>& models) {
  app.group("Training");
  if (models.empty()) {
    app.add_option("--model", options.model, "Folder of a published model")->check(not_empty());
  } else {
    options.model = models.front();
    app.add_option("--model", options.model, "Model to train")
        ->check(one_of(models))
        ->capture_default_str();
  }
  add_device_options(app, options);
  app.add_option("--seed", options.seed, "Seed of everything random")
      ->check(whole_number(0, INT64_MAX))
      ->capture_default_str();
  app.add_option("--batch", options.batch, "Examples per step")
      ->check(whole_number(1, kLargestBatch))
      ->capture_default_str();
  app.add_option("--accumulate", options.accumulate, "Batches whose gradients make one update")
      ->check(whole_number(1, kLargestBatch))
      ->capture_default_str();
  app.add_option("--mode", options.mode, "eager: op by op; captured: planned once, then replayed")
      ->check(one_of({"eager", "captured"}))
      ->capture_default_str();
  app.add_flag("--no-graph", options.no_graph,
               "On a GPU, start the kernels of a captured step one by one, not as one graph");
  app.add_option("--precision", options.precision_name,
                 "What activations are kept in; parameters and losses are f32")
      ->check(one_of(precision_names()))
      ->capture_default_str();
  app.add_option("--loss-scale", options.loss_scale,
                 "dynamic, none or a number; default: dynamic for f16, else none")
      ->check(loss_scale());
  app.add_flag("--checkpoint", options.checkpoint,
               "Keep only the inputs of each block and recompute the rest in the backward pass");
  app.add_flag("--find-nan", options.find_nan,
               "Stop at the first op that writes NaN or infinity, unless it is an overflow that "
               "dynamic loss scaling looks for");
  app.add_option("--tensorboard", options.tensorboard, "Write event files to this folder")
      ->check(not_empty());
  app.add_option("--histograms", options.histograms,
                 "Updates between histograms of parameters and gradients there; 0: none")
      ->check(whole_number(0, kMany))
      ->capture_default_str();
  app.add_option("--json", options.json, "Write the figures to this file")->check(not_empty());
}

void add_memory_options(CommandLine& app, Options& options) {
  app.group("Memory");
  app.add_option("--budget", options.budget_text,
                 "Bytes that training may hold, as in 300MiB; auto: what is free")
      ->check(budget());
  app.add_flag("--plan-only", options.plan_only, "Print the plan and stop before the first step")
      ->configurable(false);
  app.add_option("--plan-seconds", options.planning.search_seconds,
                 "How long to search for what to recompute, in seconds of a core of 2025")
      ->check(plan_seconds())
      ->capture_default_str();
  app.add_option("--cost", options.cost,
                 "What recompute is weighed by: measured times, or a model that is the same "
                 "everywhere")
      ->check(one_of({"measured", "model"}))
      ->capture_default_str();
  app.add_option("--report", options.report,
                 "Draw the memory of a step in this file: an HTML page for any browser")
      ->check(not_empty());
  app.add_option("--snapshot", options.snapshot,
                 "Write it for pytorch.org/memory_viz to this file; a name in .json gives JSON, "
                 "which that page does not read, any other a pickle")
      ->check(not_empty());
  app.add_option("--trace", options.trace, "Write it for ui.perfetto.dev to this file")
      ->check(not_empty());
}

void resolve(Options& options) {
  options.name = options.model;
  options.captured = options.mode == "captured";
  options.graph = !options.no_graph;
  options.precision = precision_named(options.precision_name);
  options.planning.costs = options.cost == "model" ? CostModel::model : CostModel::measured;
  if (options.checkpoint) options.note = "checkpoint at each block";
  if (!options.budget_text.empty())
    options.budget = options.budget_text == "auto" ? train::TrainOptions::kWhatIsFree
                                                   : parse_bytes(options.budget_text);
  for (const auto& [option, asked] : {std::pair("--plan-only", options.plan_only),
                                      std::pair("--budget", !options.budget_text.empty())})
    check<UsageError>(!asked || options.captured, option,
                      ": only a captured step is planned: --mode ", options.mode,
                      ". Use --mode captured.");
  for (const auto& [option, file] :
       {std::pair("--report", options.report), std::pair("--trace", options.trace)})
    check<UsageError>(file.empty() || options.captured, option,
                      ": only a captured step has a plan to draw: --mode ", options.mode,
                      ". Use --mode captured, or --snapshot.");
}

namespace {

// Reports and configs are UTF-8, so no path may be anything else.
void check_words(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    try {
      (void)train::Json(argv[i]).dump();
    } catch (const train::Json::exception&) {
      std::string shown = argv[i];
      for (char& c : shown)
        if (static_cast<unsigned char>(c) >= 0x80) c = '?';
      fail<UsageError>("command line: word ", i, " is not UTF-8: ", shown,
                       ". Rename the file, or the folder that it is in.");
    }
  }
}

int run_to_the_end(CommandLine& app, int argc, char** argv, Options& options,
                   const std::function<void()>& body) {
  Launched launched;
  try {
    check_words(argc, argv);
    if (!parse_command_line(app, argc, argv, options)) return 0;
    resolve(options);
    if (options.threads > 0) set_num_threads(options.threads);
    launched.open(options);
    body();
    launched.close();
    return 0;
  } catch (const Exit& exit) {
    return exit.print();
  } catch (const UsageError& e) {
    return launched.failed(2, e.what());
  } catch (const DataError& e) {
    return launched.failed(3, e.what());
  } catch (const train::Interrupted& e) {  // of ranks all stop together
    if (launched.first()) std::fprintf(stderr, "%s\n", e.what());
    launched.close();
    return train::kInterrupted;
  } catch (const std::bad_alloc&) {
    return launched.failed(1,
                           "out of memory: the machine has no more. Use a smaller batch or model.");
  } catch (const std::exception& e) {
    return launched.failed(1, e.what());
  }
}

}  // namespace

int run_example(CommandLine& app, int argc, char** argv, Options& options,
                const std::function<void()>& body) {
  open_standard_files();
  const int code = run_to_the_end(app, argc, argv, options, body);
  const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (written || code != 0) return code;
  std::fprintf(stderr, "standard output: not all could be written. Is the disk full?\n");
  return 1;
}

void takes_none(const CommandLine& app, const std::string& model, const char* has,
                std::initializer_list<const char*> names) {
  for (const char* name : names)
    check<UsageError>(app.count(name) == 0, name, ": --model ", model, " has ", has,
                      ": it takes no ", name, ". Leave it out.");
}

const std::vector<std::string>& precision_names() {
  static const std::vector<std::string> names{"f32", "bf16", "f16"};  // in the enumeration's order
  return names;
}

Precision precision_named(const std::string& name) {
  return static_cast<Precision>(std::ranges::find(precision_names(), name) -
                                precision_names().begin());
}

Device device_named(const std::string& name) {
  if (name == "cpu") return Device::cpu;
  const std::string number = name == "cuda" ? "0" : name.starts_with("cuda:") ? name.substr(5) : "";
  const char* const last = number.data() + number.size();
  int index = 0;
  const auto [end, error] = std::from_chars(number.data(), last, index);
  check<UsageError>(error == std::errc() && end == last && index >= 0,
                    "--device: no such device: ", name, ". Use cpu, cuda or cuda:1.");
  check<UsageError>(cuda_backend != nullptr, "--device: this build has no CUDA kernels: ", name,
                    ". Use --device cpu.");
  cuda_api().select(index);
  return Device::cuda;
}

Device open_device(const std::string& name) {
  const Device device = device_named(name);
  if (device == Device::cpu) return device;
  const std::string why = why_no_cuda();
  check<UsageError>(why.empty(), "--device ", name, ": ", why);
  return device;
}

}  // namespace plimsoll::examples
