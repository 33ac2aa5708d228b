#include "examples/common/session.h"

#include <cmath>
#include <filesystem>
#include <fstream>

#include "data/atomic_file.h"

namespace plimsoll::examples {
namespace {

namespace fs = std::filesystem;

bool same_folder(const std::string& a, const std::string& b) {
  std::error_code none;
  return !a.empty() && !b.empty() && fs::equivalent(a, b, none);
}

}  // namespace

Json facts(const Options& options) {
  return {{"model", options.model},
          {"data", options.data},
          {"mode", options.mode},
          {"precision", options.precision},
          {"checkpoint", options.checkpoint},
          {"batch", options.batch},
          {"accumulate", options.accumulate}};
}

Session::Session(const Options& options, const RunLength& length, PooledAllocator& pool)
    : options_(options),
      length_(length),
      pool_(pool),
      report_(options.json),
      board_(options.plan_only ? std::string() : options.tensorboard),
      early_(options.patience) {
  check<UsageError>(options.histograms == 0 || !options.tensorboard.empty(),
                    "--histograms: they go into event files, and there are none: ",
                    options.histograms, ". Add --tensorboard FOLDER.");
  if (!options.run.empty() && !options.plan_only)
    run_.emplace(options.run, options.resume && (options.run == options.resume_from ||
                                                 same_folder(options.run, options.resume_from)));
  state_.number("run.batches", batches_)
      .number("run.round_loss.sum", round_loss_.sum)
      .number("run.round_loss.count", round_loss_.count)
      .number("run.mean_loss", mean_loss_)
      .number("run.evaluation.sum", score_.loss.sum)
      .number("run.evaluation.count", score_.loss.count)
      .number("run.evaluation.right", score_.right)
      .number("run.lowest_loss", early_.best)
      .number("run.evaluations_without_lower", early_.waited);
}

void Session::begin() {
  if (options_.plan_only) return;
  if (options_.resume) {
    std::string file = options_.resume_from;
    std::vector<train::Changed> changed;
    const bool own = run_ && same_folder(options_.run, options_.resume_from);
    if (fs::is_directory(file)) {
      const auto restored = train::restore_newest(train::RunFolder::saves_of(file), state_);
      file = restored.file.string();
      changed = restored.changed;
      for (const train::Damaged& damaged : restored.damaged) {
        std::printf("%s\n", damaged.why.c_str());
        if (own) train::set_aside(damaged);
      }
    } else {
      changed = state_.restore(file);
    }
    if (file.empty())
      std::printf("nothing is saved in %s yet: training begins\n", options_.resume_from.c_str());
    else
      std::printf("resumed after %lld batches from %s\n", static_cast<long long>(batches_),
                  file.c_str());
    for (const auto& [name, before, now] : changed)
      std::printf("  %s %s from here on; it was %s\n", name.c_str(), now.c_str(), before.c_str());
    if (own && !file.empty()) saved_ = batches_;
  }
  first_ = batches_;
  if (options_.resume) board_.resumed(batches_);
}

void Session::planned(const Planned& planned) {
  planned_ = planned;
  progress_.emplace("batch", length_.batches, length_.amount, first_);
  start_ = std::chrono::steady_clock::now();
  pool_.reset_peak();
  if (!run_) return;
  saves_.emplace(run_->saves(), options_.keep);
  if (batches_ > 0 && saved_ != batches_) {  // the state is another run's: now it is this one's too
    save();
    saves_->finish();
  }
  data::write_atomically(run_->config(), options_.config);
  std::vector<std::string> columns{"loss", "mean_loss", "val_loss", "accuracy"};
  if (length_.perplexity) columns.emplace_back("perplexity");
  columns.emplace_back("learning_rate");
  log_.emplace(run_->path(), std::move(columns), batches_);
  rows_of_before();
  std::printf("  saves into %s; a copy of %s of the state is outside of any plan and budget\n",
              run_->saves().c_str(), bytes_text(state_.bytes()).c_str());
}

bool Session::running() const {
  const bool enough = options_.stop_after > 0 && batches_ - first_ >= options_.stop_after;
  return batches_ < length_.batches && !enough && !stop_.requested() && !early_.reached();
}

bool Session::evaluation_due(int64_t batches) const {
  return batches % length_.round == 0 || batches == length_.batches;
}

void Session::trained(const Loss& loss, int64_t labels, const AsyncReadBack& learning_rate) {
  ++batches_;
  best_ = false;
  trained_.push_back({loss, batches_, labels, learning_rate});
  drain_losses(loss.known() ? 0 : kMostPendingLosses);
}

void Session::drain_losses(size_t most_left) {
  for (; trained_.size() > most_left; trained_.pop_front()) count_loss(trained_.front());
}

void Session::count_loss(const Trained& batch) {
  loss_ = batch.loss.value();
  rate_ = batch.learning_rate.value();
  round_loss_.add(loss_, batch.labels);
  board_.trained(batch.batches, loss_, rate_);
  progress_->update(batch.batches, (batch.batches - first_) * length_.batch_amount,
                    status_line(loss_, score_.loss.count > 0 ? score_.accuracy() : -1,
                                planned_.training, pool_.stats()));
  const int64_t every = options_.log_every;
  if (log_ && every > 0 && batch.batches % every == 0 && !evaluation_due(batch.batches))
    log_->row(batch.batches, {{"loss", loss_}, {"learning_rate", rate_}});
}

bool Session::histograms_due(int64_t update) const {
  return options_.histograms > 0 && (update + 1) % options_.histograms == 0;
}

void Session::histograms(const std::vector<NamedTensor>& parameters,
                         std::span<const Tensor> gradients) {
  if (gradients.empty()) return;
  drain_losses(0);
  for (size_t i = 0; i < parameters.size(); ++i) {
    const auto& [name, parameter] = parameters[i];
    board_.histogram(cat("gradients/", name), gradients[i], batches_);
    board_.histogram(cat("parameters/", name), parameter, batches_);
  }
}

void Session::evaluate(Runner& step, const Batches& next) {
  drain_losses(0);
  progress_->finish();
  peak_ = std::max(peak_, pool_.stats().peak.bytes);
  board_.memory(batches_, pool_.stats().peak);
  step.release_arena();  // training's
  pool_.reset_peak();
  score_ = {};
  while (const std::optional<data::Batch> batch = next()) {
    const std::vector<Tensor> results = step.evaluate({batch->x, batch->y});
    score_.add(results[0], results[1], batch->y);
  }
  evaluation_peak_ = std::max(evaluation_peak_, pool_.stats().peak.bytes);
  step.release_arena();  // the evaluation's
  pool_.reset_peak();

  mean_loss_ = round_loss_.value();
  round_loss_ = {};
  const double loss = score_.loss.value(), perplexity = score_.perplexity();
  best_ = early_.observe(loss);
  board_.evaluated(batches_, {{"loss", loss}, {"accuracy", score_.accuracy()}});
  const int64_t place = batches_ / length_.unit_batches;
  std::printf("%s %lld/%lld  mean loss %.9g  %s loss %.4f  %s accuracy %.4f", length_.unit,
              static_cast<long long>(place),
              static_cast<long long>(length_.batches / length_.unit_batches), mean_loss_,
              length_.held_out, loss, length_.held_out, score_.accuracy());
  if (length_.perplexity) std::printf("  perplexity %.3f", perplexity);
  std::printf("\n");
  std::fflush(stdout);
  rows_.push_back(row(batches_, {{"mean_loss", mean_loss_},
                                 {"val_loss", loss},
                                 {"accuracy", score_.accuracy()},
                                 {"perplexity", perplexity}}));
  if (!log_) return;
  if (length_.perplexity)
    log_->row(batches_, {{"loss", loss_},
                         {"mean_loss", mean_loss_},
                         {"val_loss", loss},
                         {"accuracy", score_.accuracy()},
                         {"perplexity", perplexity},
                         {"learning_rate", rate_}});
  else
    log_->row(batches_, {{"loss", loss_},
                         {"mean_loss", mean_loss_},
                         {"val_loss", loss},
                         {"accuracy", score_.accuracy()},
                         {"learning_rate", rate_}});
}

Json Session::row(int64_t batches, const Json& figures) const {
  Json row = {{length_.unit, batches / length_.unit_batches},
              {"loss", figures.value("mean_loss", Json())},
              {"val_loss", figures.value("val_loss", Json())},
              {"accuracy", figures.value("accuracy", Json())}};
  if (length_.perplexity) row["perplexity"] = figures.value("perplexity", Json());
  return row;
}

// Evaluations that processes before this one made, from their log.
void Session::rows_of_before() {
  std::ifstream lines(log_->metrics());
  for (std::string line; std::getline(lines, line);) {
    const Json figures = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (figures.is_object() && figures.contains("val_loss"))
      rows_.push_back(row(figures["batches"], figures));
  }
}

void Session::save_when_due() {
  const int64_t every = options_.save_every;
  if (saves_ && (evaluation_due() || (every > 0 && batches_ % every == 0))) save();
}

void Session::save() {
  drain_losses(0);
  saves_->save(batches_, state_, best_);
  saved_ = batches_;
}

bool Session::finish(Json facts, int64_t skipped) {
  drain_losses(0);
  if (saves_ && saved_ != batches_) save();
  if (saves_) saves_->finish();
  if (batches_ < length_.batches && !early_.reached()) {
    const std::string stopped =
        cat("stopped after ", batches_, " batches",
            saves_ ? cat("; --resume ", options_.run, " goes on") : std::string(), ".");
    if (stop_.requested()) throw train::Interrupted(stopped);
    std::printf("%s\n", stopped.c_str());
    return false;
  }
  if (early_.reached())
    std::printf("stopped early: %lld evaluations without a lower loss than %.4f\n",
                static_cast<long long>(early_.waited), early_.best);
  facts[cat(length_.unit, "s")] = rows_;
  facts["final"] = {
      {"loss", mean_loss_},
      {"val_loss", score_.loss.value()},
      {"accuracy", score_.accuracy()},
      {"peak_bytes", peak_},
      {"evaluation_peak_bytes", evaluation_peak_},
      {"planned_bytes", planned_.training},
      {"evaluation_planned_bytes", planned_.evaluation},
      {"skipped_steps", skipped},
      {"seconds",
       std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count()}};
  report_.write(facts);
  return true;
}

}  // namespace plimsoll::examples
