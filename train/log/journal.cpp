#include "train/log/journal.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace plimsoll::train {

double Evaluation::at(const std::string& name) const {
  const auto found = std::ranges::find(figures, name, &std::pair<std::string, double>::first);
  return found == figures.end() ? std::nan("") : found->second;
}

Journal::Journal(const TrainOptions& options, const RunLength& length, PooledAllocator& pool)
    : options_(options), length_(length), pool_(pool) {
  if (options.tensorboard.empty() || options.plan_only || options.evaluate_only) return;
  try {
    events_.emplace(options.tensorboard);
  } catch (const DataError& e) {
    fail<UsageError>("tensorboard: ", e.what());
  }
}

void Journal::open(const std::filesystem::path& folder, int64_t done, int64_t evaluated,
                   int64_t planned_bytes) {
  first_ = done;
  planned_bytes_ = planned_bytes;
  if (options_.resume && events_) events_->restart(done + 1);  // later steps are not shown any more
  progress_.emplace("batch", length_.batches, cat(length_.item, "/s"), done);
  if (folder.empty()) return;
  std::vector<std::string> columns{"loss", "mean_loss", "val_loss"};
  const Objective& objective = options_.objective;
  if (objective.guess) columns.emplace_back("accuracy");
  if (objective.perplexity) columns.emplace_back("perplexity");
  for (const Metric& metric : objective.metrics) columns.push_back(metric.name);
  columns.emplace_back("learning_rate");
  log_.emplace(folder, std::move(columns), evaluated);
  begin_row(done);
  for (const LogRow& row : read_log(folder)) {
    Evaluation evaluation{.batches = row.batches, .figures = row.figures};
    if (std::isnan(evaluation.at("mean_loss"))) continue;  // a batch alone
    evaluation.mean_loss = evaluation.at("mean_loss");
    std::erase_if(evaluation.figures, [](const auto& figure) {
      return figure.first == "loss" || figure.first == "mean_loss" ||
             figure.first == "learning_rate";
    });
    evaluations_.push_back(std::move(evaluation));
  }
}

void Journal::trained(int64_t batches, double loss, double learning_rate) {
  loss_ = loss;
  rate_ = learning_rate;
  if (events_) {
    events_->scalar("train/loss", loss, batches);
    events_->scalar("train/learning_rate", learning_rate, batches);
  }
  progress_->update(batches, (batches - first_) * length_.items,
                    status_line(loss, planned_bytes_, pool_.stats()));
  const bool evaluation = length_.evaluation_after(batches);
  if (log_ && options_.log_every > 0 && batches % options_.log_every == 0 && !evaluation) {
    log_->row(batches, {{"loss", loss}, {"learning_rate", learning_rate}}, measured(batches));
    begin_row(batches);
  }
}

void Journal::begin_row(int64_t batches) {
  row_first_ = batches;
  row_start_ = std::chrono::steady_clock::now();
  row_peak_.emplace(pool_);
}

Figures Journal::measured(int64_t batches) const {
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - row_start_).count();
  Figures figures{{"memory", static_cast<double>(row_peak_->peak().bytes)}};
  if (planned_bytes_ > 0) figures.emplace_back("planned", static_cast<double>(planned_bytes_));
  if (batches > row_first_)
    figures.emplace_back("items_per_second",
                         static_cast<double>((batches - row_first_) * length_.items) / seconds);
  return figures;
}

void Journal::histograms(int64_t batches, const std::vector<NamedTensor>& parameters,
                         std::span<const Tensor> gradients) {
  if (!events_) return;
  for (size_t i = 0; i < gradients.size(); ++i) {
    const auto& [name, parameter] = parameters[i];
    events_->histogram(cat("gradients/", name), gradients[i], batches);
    events_->histogram(cat("parameters/", name), parameter, batches);
  }
}

void Journal::evaluating(int64_t batches) {
  progress_->pause();
  if (events_) {  // the most bytes in use, and what held them then
    const Peak& peak = pool_.stats().peak;
    events_->scalar("memory/peak", static_cast<double>(peak.bytes), batches);
    for (int c = 0; c < kMemoryClasses; ++c)
      events_->scalar(cat("memory/", name_of(static_cast<MemoryClass>(c))),
                      static_cast<double>(peak.by_class[static_cast<size_t>(c)]), batches);
  }
  if (log_) row_measured_ = measured(batches);
}

void Journal::say(const std::string& sentence) {
  progress_->finish();
  std::printf("%s\n", sentence.c_str());
  std::fflush(stdout);
}

void Journal::evaluated(const Evaluation& evaluation) {
  std::string line;
  for (const auto& [name, value] : evaluation.figures) {
    const bool loss = name == "val_loss", perplexity = name == "perplexity";
    char text[64];
    std::snprintf(text, sizeof text, perplexity ? "%.3f" : "%.4f", value);
    line += cat("  ", perplexity ? "" : length_.split + " ", loss ? "loss" : name, " ", text);
    if (events_ && !perplexity)
      events_->scalar(cat("evaluation/", loss ? "loss" : name), value, evaluation.batches);
  }
  std::printf("%s %lld/%lld  mean loss %.9g%s\n", length_.unit,
              static_cast<long long>(evaluation.batches / length_.unit_batches),
              static_cast<long long>(length_.batches / length_.unit_batches), evaluation.mean_loss,
              line.c_str());
  std::fflush(stdout);
  progress_->go_on();
  evaluations_.push_back(evaluation);
  if (!log_) return;
  Figures row = evaluation.figures;
  row.insert(row.end(),
             {{"loss", loss_}, {"mean_loss", evaluation.mean_loss}, {"learning_rate", rate_}});
  log_->row(evaluation.batches, row, row_measured_);
  begin_row(evaluation.batches);
}

}  // namespace plimsoll::train
