#include "examples/common/trained_model.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>

#include "examples/common/image_data.h"
#include "examples/common/synthetic.h"
#include "examples/models/weights.h"
#include "train/budget.h"
#include "train/predict/saved_model.h"
#include "train/run_folder.h"

namespace plimsoll::examples {
namespace {

namespace fs = std::filesystem;

// What the run says of itself.
void read_config(const CommandLine& app, PredictOptions& options) {
  const fs::path config = train::RunFolder::config_of(options.run);
  std::error_code none;
  check<UsageError>(fs::exists(config, none), "--run: this is no run: ", options.run, " has no ",
                    config.filename().string(), ". Name a folder that train_cnn --run has made.");
  const auto value = [&](const char* name) { return value_in_config(config.string(), name); };
  const std::string model = value("model"), batch = value("batch");
  check<UsageError>(std::ranges::count(cnn_names(), model) > 0, "--run: this run trains no net on ",
                    "images: ", options.run, " has the model ", model.empty() ? "\"\"" : model,
                    ". Name a run of train_cnn.");
  check<UsageError>(app.count("--model") == 0 || options.model == model,
                    "--model: the run has another one: ", options.run, " has ", model, ", not ",
                    options.model, ". Leave it out.");
  options.model = model;
  if (app.count("--data") == 0) options.data = value("data");
  if (options.data.starts_with("folder:")) {  // its pictures as they were then
    const std::string side = value("image-size");
    if (app.count("--image-size") == 0)
      std::from_chars(side.data(), side.data() + side.size(), options.image_size);
    options.grey = value("grey") == "true";
  }
  if (app.count("--precision") == 0) options.precision_name = value("precision");
  if (app.count("--batch") == 0)
    std::from_chars(batch.data(), batch.data() + batch.size(), options.batch);
  check<UsageError>(
      std::ranges::count(precision_names(), options.precision_name) > 0 && options.batch > 0,
      "--run: the config is not one of train_cnn: ", config.string(),
      ". Give --precision and --batch.");
  options.precision = precision_named(options.precision_name);
}

void check_words(const CommandLine& app, const PredictOptions& options) {
  check<UsageError>(options.run.empty() != options.weights.empty(),
                    "predict: it takes the weights of a run or of a file: ",
                    options.run.empty() ? "neither --run nor --weights is given"
                                        : "both --run and --weights are given",
                    ". Give one of them.");
  check<UsageError>(options.weights.empty() || app.count("--model") > 0,
                    "--weights: the file does not say what model it is of: ", options.weights,
                    ". Give --model, and --data as it was trained on.");
  check<UsageError>(options.weights.empty() || !options.best,
                    "--best: there is one set of weights in a file: ", options.weights,
                    ". Leave it out.");
  check<UsageError>(!options.pictures.empty() || !options.entries.empty() ||
                        options.whole_split() || options.plan_only,
                    "predict: there is nothing to predict: no pictures. Name some, or give "
                    "--entry, --evaluate, --confusion, --worst or --report.");
}

}  // namespace

void add_predict_options(CommandLine& app, PredictOptions& options) {
  app.add_option("pictures", options.pictures, "Pictures: PNG, JPEG, PGM or PPM files of 8 bits");
  app.add_option("--run", options.run, "Folder of the run of train_cnn that trained the net")
      ->check(not_empty());
  app.add_flag("--best", options.best, "Its best save, not its newest");
  app.add_option("--weights", options.weights, "Or a safetensors file that --export has written")
      ->check(not_empty());
  app.add_option("--model", options.model, "What such a file is of")->check(one_of(cnn_names()));
  app.add_option("--data", options.data,
                 cat("What the net was trained on, for its normalisation and --entry: ",
                     data::kImageSources, " [as the run says]"));
  app.add_option("--image-size", options.image_size,
                 "What the pictures of a folder were stretched to [as the run says]")
      ->check(whole_number(0, 4096));
  app.add_option("--entry", options.entries, "Images of its test split too, as in 17,30-35")
      ->check(not_empty());
  app.add_option("--top", options.top, "Classes to name for each image")
      ->check(whole_number(1, kMany))
      ->capture_default_str();
  app.add_flag("--resize", options.fit.resize,
               "Take pictures of other sizes, stretched to the net's");
  app.add_flag("--grey", options.fit.grey, "Take pictures in colours for a net that knows grey");
  app.add_flag("--evaluate", options.evaluate, "Print loss and accuracy of the test split");
  app.add_flag("--confusion", options.confusion, "And which classes are taken for which");
  app.add_option("--worst", options.worst, "And so many of the worst mistakes")
      ->check(whole_number(1, 10'000));
  app.add_option("--report", options.report, "Draw them in this file: an HTML page for any browser")
      ->check(not_empty());
  app.add_option("--json", options.json, "Write all of it to this file")->check(not_empty());
  app.add_option("--batch", options.batch, "Images at a time [as the run says, or 128]")
      ->check(whole_number(1, kLargestBatch));
  app.add_option("--precision", options.precision_name,
                 "What activations are kept in [as the run says, or f32]")
      ->check(one_of(precision_names()));
  app.add_option("--budget", options.budget_text, "Bytes that it may hold, as in 30MiB")
      ->check(size_in_bytes("30MiB"));
  app.add_flag("--plan-only", options.plan_only, "Print what it takes and stop");
  add_device_options(app, options);
}

TrainedModel trained_model(const CommandLine& app, PredictOptions& options) {
  check_words(app, options);
  if (!options.run.empty())
    read_config(app, options);
  else
    options.grey = options.fit.grey && options.data.starts_with("folder:");
  check<UsageError>(options.data != kSynthetic,
                    "--data: synthetic images show nothing, and have no normalisation: ",
                    options.run, ". Name a run on pictures.");
  const Device device = open_device(options.device);
  if (options.budget != 0) train::make_exact(*default_pool(device));
  TrainedModel trained{.file = options.weights,
                       .test = naming_data(
                           options,
                           [&] {
                             return formats::load_images(options.data, data::Split::test,
                                                         folder_attrs(options));
                           },
                           /*of_run=*/app.count("--data") == 0),
                       .normalization = {},
                       .class_names = {},
                       .model = nullptr};
  trained.normalization = trained.test.normalization;
  trained.class_names = trained.test.class_names;
  const ImageSize size{trained.test.height, trained.test.width, trained.test.channels,
                       trained.test.classes};
  nn::Initializer init{.placement = {.device = device}};
  trained.model = make_cnn(options.model, size, /*checkpoint=*/false, init);
  if (options.run.empty()) {
    Weights(options, cnn_torch_layout(options.model, size)).read(*trained.model);
    return trained;
  }
  const train::SavedModel saved = train::read_saved_model(options.run, *trained.model,
                                                          {{"model", options.model}}, options.best);
  for (const train::Damaged& damaged : saved.damaged) std::printf("%s\n", damaged.why.c_str());
  trained.file = saved.file.string();
  trained.normalization = saved.normalization();
  if (auto names = saved.class_names(); !names.empty()) trained.class_names = std::move(names);
  return trained;
}

}  // namespace plimsoll::examples
