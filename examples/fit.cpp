// Will it fit? Prints, without allocating it, the largest batch that a model trains with in so much
// memory, for each type and with more and more recompute, and how long a step would take.
//
//   fit --model lenet --vram 2GiB
//   fit --model gpt --layers 12 --heads 12 --width 768 --context 1024 --vocabulary 50257
//     ... --vram 24GiB --tflops 60 --tflops-16 240 --gbytes 1000
//   fit --model models/SmolLM-135M --lora 16 --context 512 --vram 3GiB     of its config.json alone
//   fit --model gpt2-124M --vram 8GiB --ranks 1,8,64 --shard 0,1,3    each of so many ranks, and
//     what of it is what: docs/distributed.md
//     ... --link-gbytes 0.125 --link-us 50                     and how long they wait
#include <algorithm>
#include <filesystem>
#include <future>

#include "examples/common/options.h"
#include "examples/common/report.h"
#include "examples/measure/comparison_table.h"
#include "examples/measure/fitting.h"

namespace plimsoll::examples {
namespace {

struct Asked {
  FitModel model;
  std::string vram;
  std::vector<int64_t> image;  // empty: the model's own
  std::vector<std::string> precisions{"f32", "bf16", "f16"};
  double tflops = 0.1, tflops16 = 0, gbytes = 10;  // as CostModel::model has it
  FitOptions options;
  std::vector<int64_t> ranks;  // empty: there are none
  int64_t accumulate = 0;      // 0: as many as there are ranks at most
  std::vector<int64_t> shard{0};
  double link_gbytes = 0, link_us = 20;  // 0: no link was described
  std::string json;
};

struct Way {
  Recomputing recomputing;
  const char* name;
};
constexpr Way kWays[] = {{Recomputing::none, "none"},
                         {Recomputing::up_to_a_tenth, "up to +10 %"},
                         {Recomputing::smallest, "smallest"}};

Json print_fit(const std::string& precision, const Way& way, const Fit& fit, int64_t most) {
  if (fit.batch == 0)
    std::printf("%-5s %-12s not one example: it takes %s\n", precision.c_str(), way.name,
                bytes_text(fit.least_bytes).c_str());
  else
    std::printf("%-5s %-12s %9lld%c %12s %11.1f %10.3f %8.1f\n", precision.c_str(), way.name,
                static_cast<long long>(fit.batch), fit.batch == most ? '+' : ' ',
                bytes_text(fit.bytes).c_str(), 1e3 * fit.seconds,
                1e3 * fit.seconds / static_cast<double>(fit.batch),
                100 * fit.added_seconds / (fit.seconds - fit.added_seconds));
  std::fflush(stdout);
  return {{"precision", precision}, {"recompute", way.name},
          {"batch", fit.batch},     {"bytes", fit.batch == 0 ? fit.least_bytes : fit.bytes},
          {"seconds", fit.seconds}, {"added_seconds", fit.added_seconds}};
}

// What a rank waits for, as a line and as members of the row, in seconds.
void print_lanes(const Lanes& lanes, Json& row) {
  std::printf("%18s computes %.1f ms, exchanges %.1f ms beside, waits for %.1f ms of them\n", "",
              1e3 * lanes.computing, 1e3 * lanes.communicating, 1e3 * lanes.exposed);
  row["computing_seconds"] = lanes.computing;
  row["communication_seconds"] = lanes.communicating;
  row["exposed_seconds"] = lanes.exposed;
}

// What is found for one type, for each of kWays.
struct Found {
  int64_t parameters = 0;
  std::vector<Fit> fits;
};

Found find(const Asked& asked, int64_t bytes, Precision precision) {
  const ModelStep step(asked.model, precision);
  FitSearch search(step, asked.options);
  Found found{step.parameter_count(), {}};
  for (const Way& way : kWays) found.fits.push_back(search.largest_batch(bytes, way.recomputing));
  return found;
}

void fit(Asked asked) {
  const ReportFile report(asked.json);
  if (asked.model.name == "gpt")
    check<UsageError>(
        asked.model.gpt.width % asked.model.gpt.heads == 0,
        "--width: it is not divisible by the number of heads: ", asked.model.gpt.width, " and ",
        asked.model.gpt.heads, ". Choose a multiple of --heads.");
  if (!asked.image.empty())
    asked.model.image = {asked.image[0], asked.image[1], asked.image[2], asked.model.image.classes};
  const double tflops16 = asked.tflops16 > 0 ? asked.tflops16 : asked.tflops;
  asked.options.speed = {asked.tflops * 1e12, tflops16 * 1e12, asked.gbytes * 1e9};
  const int64_t bytes = parse_bytes(asked.vram);
  Json rows = Json::array();
  const auto print = [&](const std::string& precision, const Found& found) {
    if (rows.empty()) {
      std::printf("%s, %lld parameters, in %s\n", asked.model.name.c_str(),
                  static_cast<long long>(found.parameters), bytes_text(bytes).c_str());
      std::printf("%-5s %-12s %9s  %12s %11s %10s %8s\n", "type", "recompute", "batch", "takes",
                  "ms/step", "ms/example", "added %");
    }
    if (asked.model.ranks > 0 && precision == asked.precisions.front())
      std::printf("each of %lld ranks, which share updates of %lld batches, in stage %lld\n",
                  static_cast<long long>(asked.model.ranks),
                  static_cast<long long>(asked.model.accumulate),
                  static_cast<long long>(asked.model.shard));
    for (size_t k = 0; k < found.fits.size(); ++k) {
      const Fit& fit = found.fits[k];
      rows.push_back(print_fit(precision, kWays[k], fit, asked.options.most));
      if (asked.model.ranks > 0) {
        rows.back()["ranks"] = asked.model.ranks;
        rows.back()["shard"] = asked.model.shard;
        if (fit.batch > 0) {  // what is what of the bytes of a rank, when most is held
          std::printf("      %s\n", bytes_text(fit.at_peak).c_str());
          rows.back()["at_peak"] = to_json(fit.at_peak);
        }
      }
      if (asked.link_gbytes > 0 && fit.batch > 0) print_lanes(fit.lanes, rows.back());
    }
  };
  if (asked.ranks.empty()) asked.ranks.push_back(0);
  for (const int64_t ranks : asked.ranks) {
    asked.model.ranks = ranks;
    asked.options.link = {.ranks = std::max<int64_t>(1, ranks),
                          .bytes_per_second = 1e9 * asked.link_gbytes,
                          .latency = asked.link_gbytes > 0 ? 1e-6 * asked.link_us : 0};
    asked.model.accumulate =
        asked.accumulate > 0 ? asked.accumulate : std::ranges::max(asked.ranks);
    for (const int64_t stage : asked.shard) {
      asked.model.shard = stage;
      // Types have programs of their own: each is searched on a thread of its own.
      std::vector<std::future<Found>> found;
      for (const std::string& precision : asked.precisions)
        found.push_back(std::async(std::launch::async, find, std::cref(asked), bytes,
                                   precision_named(precision)));
      for (size_t k = 0; k < found.size(); ++k) print(asked.precisions[k], found[k].get());
    }
  }
  report.write({{"model", asked.model.name}, {"bytes", bytes}, {"rows", rows}});
}

// One of the names, or a folder, whatever is in it.
Check name_or_folder(const std::vector<std::string>& names) {
  const Check known = one_of(names);
  return {[known](std::string& text) -> std::string {
            std::error_code none;
            return std::filesystem::is_directory(text, none) ? "" : known.fault(text);
          },
          known.shown};
}

// What is asked of a folder.
void read_folder(const CommandLine& app, Asked& asked) {
  FitModel& model = asked.model;
  model.tuning.config = published::read_config(model.name);
  const int64_t most = model.tuning.config->decoder.context;
  model.context = app.count("--context") > 0 ? model.gpt.context : most;
  check<UsageError>(model.context <= most, "--context: ", model.name, " has ", most,
                    " positions: ", model.context, ". Use at most as many.");
  check<UsageError>(asked.ranks.empty() || model.tuning.rank == 0,
                    "--ranks: frozen weights are not shared out: ", model.tuning.rank,
                    " is the rank of adapters. Leave one of them out.");
}

}  // namespace
}  // namespace plimsoll::examples

int main(int argc, char** argv) {
  using namespace plimsoll::examples;
  Options options;
  Asked asked;
  GptSize& gpt = asked.model.gpt;
  std::vector<std::string> models = cnn_names();
  models.insert(models.end(), text_model_names().begin(), text_model_names().end());
  CommandLine app{"The largest batch that trains within so much memory, without allocating it."};
  app.add_option("--model", asked.model.name,
                 "Model, or the folder of a published one, of which config.json alone is read")
      ->check(name_or_folder(models))
      ->capture_default_str();
  app.add_option("--vram", asked.vram, "Memory to train in, as in 8GiB")
      ->check(size_in_bytes("8GiB"))
      ->required();
  app.add_option("--precisions", asked.precisions, "Types that activations are kept in")
      ->delimiter(',')
      ->check(one_of(precision_names()))
      ->capture_default_str();
  app.add_option("--image", asked.image, "Image models: height, width, channels [the model's own]")
      ->delimiter(',')
      ->expected(3)
      ->check(whole_number(1, 4096));
  const auto number = [&](const char* name, int64_t& value, int64_t most, const char* what) {
    app.add_option(name, value, what)->check(whole_number(1, most))->capture_default_str();
  };
  int64_t classes = 0;
  app.add_option("--classes", classes, "Image models: classes [the model's own]")
      ->check(whole_number(1, kWidest));
  number("--layers", gpt.layers, kDeepest, "gpt: blocks");
  number("--heads", gpt.heads, kDeepest, "gpt: attention heads");
  number("--width", gpt.width, kWidest, "gpt: width");
  number("--vocabulary", gpt.vocabulary, 1'000'000, "gpt: tokens there are");
  number("--context", gpt.context, 1'000'000, "gpt, gpt2-124M: tokens in a window");
  const auto rate = [&](const char* name, double& value, const char* what) {
    app.add_option(name, value, what)->check(positive_number());
  };
  rate("--tflops", asked.tflops, "The device's products, in 10^12 operations a second [0.1]");
  rate("--tflops-16", asked.tflops16, "Those of 16-bit numbers [as --tflops]");
  rate("--gbytes", asked.gbytes, "The device's memory, in 10^9 bytes a second [10]");
  add_threads_option(app, options);
  app.add_option("--plan-seconds", asked.options.search_seconds,
                 "How long to search for a plan, in seconds of a core of 2025 [by the program]")
      ->check(plan_seconds());
  app.add_option("--ranks", asked.ranks, "Processes that train together, of which each has --vram")
      ->delimiter(',')
      ->check(whole_number(1, kLargestBatch));
  app.add_option("--shard", asked.shard, "Stages in which ranks share things out, of 0, 1, 2 and 3")
      ->delimiter(',')
      ->check(whole_number(0, 3));
  app.add_option("--accumulate", asked.accumulate,
                 "Batches of an update that ranks share [as many as there are ranks at most]")
      ->check(whole_number(1, kLargestBatch));
  add_tuning_options(app, asked.model.tuning);
  app.group("Options");
  rate("--link-gbytes", asked.link_gbytes,
       "What a rank sends and receives at a time, in 10^9 bytes a second [not counted]");
  rate("--link-us", asked.link_us, "What each exchange takes besides, in microseconds [20]");
  app.add_option("--json", asked.json, "Write the rows to this file")->check(not_empty());
  return run_example(app, argc, argv, options, [&] {
    plimsoll::check<plimsoll::UsageError>(
        app.count("--link-us") == 0 || app.count("--link-gbytes") > 0,
        "--link-us: the link has no speed. Add --link-gbytes.");
    plimsoll::check<plimsoll::UsageError>(
        app.count("--link-gbytes") == 0 || app.count("--ranks") > 0,
        "--link-gbytes: there are no ranks that it joins. Add --ranks.");
    const std::string& model = asked.model.name;
    const bool is_folder = std::ranges::find(models, model) == models.end();
    const bool is_text =
        is_folder || std::ranges::find(text_model_names(), model) != text_model_names().end();
    if (is_folder)
      read_folder(app, asked);
    else
      takes_none(app, model, "no base",
                 {"--lora", "--lora-alpha", "--lora-dropout", "--lora-stabilised", "--lora-targets",
                  "--base"});
    if (model != "gpt")
      takes_none(app, model, "a fixed size", {"--layers", "--heads", "--width", "--vocabulary"});
    if (model != "gpt" && model != "gpt2-124M" && !is_folder)
      takes_none(app, model, "a fixed size", {"--context"});
    if (is_text) takes_none(app, model, "no images", {"--image", "--classes"});
    if (!is_text) asked.model.image = own_images(model);
    if (classes > 0) asked.model.image.classes = classes;
    if (model == "gpt2-124M") {
      asked.model.context = app.count("--context") > 0 ? gpt.context : kGpt2.context;
      plimsoll::check<plimsoll::UsageError>(
          asked.model.context <= kGpt2.context, "--context: ", model, " has ", kGpt2.context,
          " positions: ", asked.model.context, ". Use at most as many.");
    }
    plimsoll::check<plimsoll::UsageError>(
        !asked.ranks.empty() || app.count("--shard") == 0,
        "--shard: things are shared out among ranks, and there are none. Give --ranks too.");
    fit(asked);
  });
}
