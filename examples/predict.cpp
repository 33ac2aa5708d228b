// What a net that train_cnn has trained says of images, and how good it is.
//
//   predict --run runs/a seven.png --top 5                the newest save of a run
//   predict --run runs/a --best --entry 17,30-35          images of its test split
//   predict --weights lenet.safetensors --model lenet --data mnist:data/mnist seven.png
//   predict --run runs/a --confusion --worst 25 --report mistakes.html
#include <algorithm>

#include "data/output_file.h"
#include "examples/common/predictions.h"
#include "train/predict/classifier.h"

namespace plimsoll::examples {
namespace {

using train::Classified;
using train::Classifier;

constexpr int64_t kShownMistakes = 25;  // where --worst says nothing

void predict(const CommandLine& app, PredictOptions& options) {
  const ReportFile report(options.json);
  std::optional<data::OutputFile> page;
  if (!options.report.empty()) page.emplace("--report", options.report);
  const TrainedModel trained = trained_model(app, options);
  const AskedImages asked = asked_images(options, trained);
  Json json = about(options, trained);

  // Images meet the net as those of an evaluation do while it is trained: the same batches make the
  // same loss, to the last digit. All of it is planned before the first of them.
  const train::ClassifyOptions how{.batch = options.batch,
                                   .precision = options.precision,
                                   .budget = options.budget,
                                   .device = open_device(options.device)};
  std::optional<Classifier> of_asked, of_split;
  if (!asked.names.empty())
    of_asked.emplace(*trained.model, trained.normalization, asked.images, how);
  if (options.whole_split() || asked.names.empty())
    of_split.emplace(*trained.model, trained.normalization, trained.test, how);
  int64_t planned = 0, host = 0, peak = 0;
  for (const auto& each : {&of_asked, &of_split})
    if (*each) {
      planned = std::max(planned, (*each)->planned_bytes());
      host = std::max(host, (*each)->host_bytes());
    }
  std::printf("  planned %s (%lld bytes), and %s of host memory to prepare a batch\n",
              bytes_text(planned).c_str(), static_cast<long long>(planned),
              bytes_text(host).c_str());
  json["planned_bytes"] = planned;
  if (options.plan_only) return report.write(json);

  if (of_asked) {
    const Classified classified = of_asked->run();
    peak = classified.peak_bytes;
    json["predictions"] = predictions(asked, classified, options.top);
  }
  if (of_split) {
    const Classified classified = of_split->run();
    peak = std::max(peak, classified.peak_bytes);
    json["evaluation"] = evaluation(trained.test, classified);
    if (options.confusion)
      json["confusion"] =
          confusion_matrix(train::Confusion(classified, trained.test.labels, trained.class_names));
    if (page && options.worst == 0) options.worst = kShownMistakes;
    const auto mistakes = train::worst_mistakes(classified, trained.test.labels, options.worst);
    if (options.worst > 0) json["worst"] = worst(trained, mistakes);
    if (page) page->write(page_of(trained, classified, mistakes));
  }
  std::printf("  measured %s (%lld bytes)\n", bytes_text(peak).c_str(),
              static_cast<long long>(peak));
  json["peak_bytes"] = peak;
  report.write(json);
}

}  // namespace
}  // namespace plimsoll::examples

int main(int argc, char** argv) {
  using namespace plimsoll::examples;
  PredictOptions options;
  options.batch = 128;
  CommandLine app{"Says what images show, by a net that train_cnn has trained."};
  add_predict_options(app, options);
  return run_example(app, argc, argv, options, [&] { predict(app, options); });
}
