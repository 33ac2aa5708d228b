#include "examples/common/report.h"

#include "examples/common/options.h"
#include "train/trainer.h"

namespace plimsoll::examples {

ReportFile::ReportFile(const std::string& path) {
  if (!path.empty()) file_.emplace("--json", path);
}

void ReportFile::write(const Json& json) const {
  if (file_) file_->write(json.dump(2) + '\n');
}

Json figures(const Options& options, const std::string& unit, int64_t unit_batches,
             const train::Result& result) {
  Json json = {{"model", options.model},
               {"data", options.data},
               {"mode", options.mode},
               {"precision", options.precision_name},
               {"checkpoint", options.checkpoint},
               {"batch", options.batch},
               {"accumulate", options.accumulate}};
  Json rows = Json::array();
  for (const train::Evaluation& evaluation : result.evaluations) {
    Json row = {{unit, evaluation.batches / unit_batches}, {"loss", evaluation.mean_loss}};
    for (const auto& [name, value] : evaluation.figures) row[name] = value;
    rows.push_back(std::move(row));
  }
  json[unit + "s"] = rows;
  json["final"] = {{"loss", result.last.mean_loss},
                   {"val_loss", result.last.at("val_loss")},
                   {"accuracy", result.last.at("accuracy")},
                   {"peak_bytes", result.peak_bytes},
                   {"evaluation_peak_bytes", result.evaluation_peak_bytes},
                   {"planned_bytes", result.planned.training},
                   {"evaluation_planned_bytes", result.planned.evaluation},
                   {"skipped_steps", result.skipped},
                   {"seconds", result.seconds}};
  for (const auto& [planned, peak, evaluation_planned, evaluation_peak] : result.ranks)
    json["ranks"].push_back({{"planned_bytes", planned},
                             {"peak_bytes", peak},
                             {"evaluation_planned_bytes", evaluation_planned},
                             {"evaluation_peak_bytes", evaluation_peak}});
  return json;
}

Json planned_figures(const Options& options, const train::Result& result) {
  return {{"model", options.model},
          {"precision", options.precision_name},
          {"batch", options.batch},
          {"planned_bytes", result.planned.training},
          {"evaluation_planned_bytes", result.planned.evaluation}};
}

}  // namespace plimsoll::examples
