#include "train/trainer.h"

#include <cstdio>
#include <filesystem>

#include "core/cpu/threads.h"
#include "data/atomic_file.h"
#include "ops/ops.h"
#include "train/find_nan.h"
#include "train/pictures/pictures.h"
#include "train/ranks/facts.h"

namespace plimsoll::train {
namespace {

namespace fs = std::filesystem;

bool same_folder(const std::string& a, const std::string& b) {
  std::error_code none;
  return !a.empty() && !b.empty() && fs::equivalent(a, b, none);
}

bool same_but_batch(Shape a, const Shape& b) {
  if (a.rank() == 0 || a.rank() != b.rank()) return a == b;
  a[0] = b[0];
  return a == b;
}

TrainOptions checked(TrainOptions options, const RankGroup& group) {
  check<ValueError>((options.epochs > 0) != (options.steps > 0),
                    "train: it is as long as its epochs or its steps say: ", options.epochs,
                    " and ", options.steps, ". Give one of them.");
  check<ValueError>(options.accumulate >= 1, "train: an update needs batches: ", options.accumulate,
                    ". Accumulate 1 or more.");
  check<ValueError>(options.prune >= 0 && options.prune < 1,
                    "train: the share to prune is not in [0, 1): ", options.prune,
                    ". Use one as 0.8.");
  if (options.resume && options.resume_from.empty()) options.resume_from = options.run;
  check<UsageError>(!options.resume || !options.resume_from.empty(),
                    "train: there is no run to go on with. Name its folder.");
  check<UsageError>(options.histograms == 0 || !options.tensorboard.empty(),
                    "histograms: they go into event files, and there are none: ",
                    options.histograms, ". Name a folder for tensorboard.");
  return group.own(std::move(options));
}

Windows windows_of(const TrainOptions& options, const Batches& training) {
  if (options.steps > 0) return {.most = options.accumulate};
  check<ValueError>(training.count > 0,
                    "train: these batches have no epochs. Say how many steps to train.");
  return {.most = std::min(options.accumulate, training.count), .epoch = training.count};
}

RunLength length_of(const TrainOptions& options, const Batches& training, const Batches& held_out) {
  const bool epochs = options.epochs > 0;
  const int64_t unit = epochs ? training.count : options.accumulate;
  const int64_t batches = unit * (epochs ? options.epochs : options.steps);
  int64_t round = epochs ? unit : batches;
  if (options.evaluate_every > 0) round = options.evaluate_every * options.accumulate;
  return {.unit = epochs ? "epoch" : "step",
          .unit_batches = unit,
          .batches = batches,
          .round = round,
          .split = held_out.split,
          .item = training.item,
          .items = training.items};
}

}  // namespace

int64_t updates_of(const TrainOptions& options, const Batches& training) {
  if (options.steps > 0) return options.steps;
  return options.epochs * windows_of(options, training).in_epoch();
}

void prepare(PooledAllocator& pool, const TrainOptions& options) {
  if (options.budget != TrainOptions::kNoBudget) make_exact(pool);
  keep_history(options, pool);
}

Trainer::Trainer(nn::Module& model, optim::ParameterGroups optimizer, Batches training,
                 Batches held_out, TrainOptions options)
    : group_(options),
      model_(model),
      options_(checked(std::move(options), group_)),
      training_(completed(std::move(training))),
      held_out_(completed(std::move(held_out))),
      windows_(windows_of(options_, training_)),
      length_(length_of(options_, training_, held_out_)),
      optimizer_(std::move(optimizer)),
      device_(optimizer_.learning_rate().device()),
      pool_(*default_pool(device_)),
      pictures_(std::make_unique<Pictures>(options_)),
      budget_(options_, pool_, training_.host_bytes),
      step_(model, optimizer_, options_, windows_, updates_of(options_, training_), group_.ranks()),
      runner_(step_.train(options_.precision), options_.captured, budget_.step_options(),
              &step_.window(), step_.evaluate(options_.precision),
              options_.histograms > 0 ? step_.train(options_.precision, true) : StepFunction()),
      journal_(options_, length_, pool_),
      early_(options_.patience) {
  check<ValueError>(held_out_.count > 0,
                    "train: there is nothing to evaluate on: ", held_out_.count,
                    " batches. Pass those of a data set.");
  for (const Metas& kind : held_out_.kinds)
    check<ShapeError>(same_but_batch(kind[0].shape, training_.kinds.front()[0].shape),
                      "train: what it is evaluated on has another shape: ", kind[0].shape, " and ",
                      training_.kinds.front()[0].shape, " in training. Use data of one shape.");
  if (!options_.run.empty() && !options_.plan_only)
    folder_.emplace(options_.run,
                    options_.resume && (options_.run == options_.resume_from ||
                                        same_folder(options_.run, options_.resume_from)));
  state_.number("run.batches", batches_)
      .number("run.round_loss.sum", round_loss_.sum)
      .number("run.round_loss.count", round_loss_.count)
      .number("run.mean_loss", mean_loss_)
      .number("run.loss", journal_.loss())
      .number("run.learning_rate", journal_.learning_rate())
      .number("run.evaluation.sum", score_.loss.sum)
      .number("run.evaluation.count", score_.loss.count)
      .number("run.evaluation.right", score_.right)
      .number("run.lowest_loss", early_.best)
      .number("run.evaluations_without_lower", early_.waited);
  for (const auto& [name, value] : options_.same) state_.same(name, value);
  state_.same("data", training_.identity)
      .same("seed", cat(options_.seed))
      .same("batch", cat(training_.kinds.front()[0].shape[0]))
      .same("accumulate", cat(windows_.most))
      .may_change("loss scale", loss_scale_of(options_), "loss_scaler.", "window.");
  step_.add_to(state_, [this] { return windows_.part(batches_) != 0; });
  if (!group_.asked()) return;
  check<UsageError>(device_ != Device::cuda,
                    "train: ranks train on CPUs so far. Leave them out on a GPU.");
  const int64_t own = windows_.most / group_.size();
  if (training_.share) training_.share(windows_.most, own * group_.ranks()->rank(), own);
}

Trainer::~Trainer() = default;

Result Trainer::run() {
  const RanksScope scope(group_.ranks());
  std::printf("%s, %lld parameters, %s, %s, %s\n", options_.name.c_str(),
              static_cast<long long>(model_.parameter_count()), training_.name.c_str(),
              options_.captured ? "captured" : "eager", name_of(options_.precision));
  if (group_.asked()) say_ranks();
  if (options_.resume && !options_.plan_only) restore();
  first_ = batches_;
  result_.planned = plan();
  if (options_.plan_only) return result_;
  if (group_.size() > 1) agree();
  open(result_.planned);
  train_all();
  return finish();
}

void Trainer::say_ranks() const {
  std::printf("rank %lld of %lld, with %d threads%s\n",
              static_cast<long long>(group_.ranks()->rank()), static_cast<long long>(group_.size()),
              num_threads(),
              optim::RankWindow::same_bits(windows_.most, group_.size())
                  ? ""
                  : "; so many ranks add in an order of their own, not that of 1, 2, 4 or 8");
}

// The first rank finds the file that all of them restore.
void Trainer::restore() {
  const bool own = folder_ && same_folder(options_.run, options_.resume_from);
  std::string file = options_.resume_from;
  std::vector<Changed> changed;
  if (group_.first() && fs::is_directory(file)) {
    const Restored restored = restore_newest(RunFolder::saves_of(file), state_);
    file = restored.file.string();
    changed = restored.changed;
    for (const Damaged& damaged : restored.damaged) {
      std::printf("%s\n", damaged.why.c_str());
      if (own) set_aside(damaged);
    }
  } else if (group_.first()) {
    changed = state_.restore(file);
  }
  file = group_.from_first(file);
  if (!group_.first() && !file.empty()) changed = state_.restore(file);
  if (file.empty())
    std::printf("nothing is saved in %s yet: training begins\n", options_.resume_from.c_str());
  else
    std::printf("resumed after %lld batches from %s\n", static_cast<long long>(batches_),
                file.c_str());
  for (const auto& [name, before, now] : changed)
    std::printf("  %s %s from here on; it was %s\n", name.c_str(), now.c_str(), before.c_str());
  if (batches_ >= length_.batches)
    std::printf("training is over: all of its %lld batches were made\n",
                static_cast<long long>(length_.batches));
  if (own && !file.empty()) saved_ = batches_;
}

Workload Trainer::workload() {
  Metas inputs = training_.kinds.front();
  inputs.push_back(make_key(0, 0, device_).meta());
  const auto& shared = step_.window().shared();
  return {.inputs = std::move(inputs),
          .windows = shared ? std::vector{shared->most_runs()} : windows_.sizes(),
          .evaluation = held_out_.kinds,
          .data_bytes = training_.data_bytes + held_out_.data_bytes};
}

Planned Trainer::plan() {
  const Workload work = workload();
  const Functions functions{.train = [&](Precision type) { return step_.train(type); },
                            .evaluate = [&](Precision type) { return step_.evaluate(type); },
                            .with_gradients =
                                [&](Precision type) {
                                  return options_.histograms > 0 ? step_.train(type, true)
                                                                 : StepFunction();
                                }};
  const Planned planned =
      budget_.plan(runner_, work, model_.parameters(), step_.window(), functions);
  pictures_->draw_plan(runner_, work.inputs, step_.train(options_.precision), step_.window());
  return planned;
}

// Nothing will be refused any more. Peaks and times count from here.
void Trainer::open(const Planned& planned) {
  start_ = std::chrono::steady_clock::now();
  pool_.reset_peak();
  if (folder_) {
    saves_.emplace(folder_->saves(), options_.keep);
    if (batches_ > 0 && saved_ != batches_) {  // another run's state: now it is this one's too
      save();
      saves_->finish();
    }
    if (!options_.config.empty()) data::write_atomically(folder_->config(), options_.config);
  }
  journal_.open(folder_ ? folder_->path() : fs::path(), batches_,
                batches_ - (evaluation_missing() ? 1 : 0), planned.training);
  if (folder_)
    std::printf("  saves into %s; a copy of %s of the state is outside of any plan and budget\n",
                folder_->saves().c_str(), bytes_text(state_.bytes()).c_str());
}

// What a difference between ranks would ruin, before it can.
void Trainer::agree() {
  std::vector<Program> programs;
  if (options_.captured) programs = runner_.capture_all(workload(), step_.window());
  step_.check_buffers(programs);
  Facts facts = facts_of(options_, model_, programs);
  facts.emplace_back("data", training_.identity);
  facts.emplace_back("data to evaluate on", cat(held_out_.identity, " ", held_out_.count));
  facts.emplace_back("batches that were trained", cat(batches_));
  group_.agree(facts);
}

bool Trainer::running() const {
  const bool enough = options_.stop_after > 0 && batches_ - first_ >= options_.stop_after;
  return batches_ < length_.batches && !enough && !stop_asked() && !early_.reached();
}

bool Trainer::reached(int64_t batches) const {
  if (!group_.asked() || batches_ == 0) return batches_ % batches == 0;
  return batches_ / batches > (batches_ - windows_.parts(batches_ - 1)) / batches;
}

bool Trainer::evaluation_due() const {
  return reached(length_.round) || batches_ == length_.batches;
}

void Trainer::train_all() {
  FindNan find_nan(options_, step_.scaler(), optimizer_.steps());
  if (evaluation_missing()) {
    evaluate();
    if (saves_) save();
  }
  while (running()) {
    group_.asked() ? train_window(find_nan) : train_alone(find_nan);
    best_ = false;
    if (windows_.part(batches_) == 0) look_at_updates();
    if (evaluation_due()) {
      if (saves_) save();  // whatever the evaluation comes to
      evaluate();
    }
    const bool due = options_.save_every > 0 && reached(options_.save_every);
    if (saves_ && (evaluation_due() || due)) save();
  }
}

// Training that loss scaling leaves without updates looks like any other.
void Trainer::look_at_updates() {
  if (!step_.scaler().current().defined() || !trained_.empty()) return;  // a GPU is not waited for
  const int64_t made = optimizer_.steps_made();
  left_out_in_a_row_ = made == made_ ? left_out_in_a_row_ + 1 : 0;
  made_ = made;
  if (left_out_in_a_row_ != kManyLeftOut) return;
  journal_.say(cat("train: ", kManyLeftOut,
                   " updates in a row were left out, as gradients are not ",
                   "finite at a loss scale of ", step_.scaler().current().item(),
                   ". Lower it, or the learning rate."));
}

void Trainer::evaluate() {
  drain_losses(0);
  result_.peak_bytes = std::max(result_.peak_bytes, pool_.stats().peak.bytes);
  journal_.evaluating(batches_);
  runner_.release_arena();  // training's
  pool_.reset_peak();
  const Objective& objective = options_.objective;
  score_ = {};
  std::vector<Mean> means(objective.metrics.size());
  const auto [begin, end] = group_.share(held_out_.count);
  std::vector<double> figures;
  for (int64_t i = begin; i < end; ++i) {
    const std::vector<double> some = evaluate_batch(i);
    figures.insert(figures.end(), some.begin(), some.end());
  }
  const int64_t width = 3 + std::ssize(means);
  figures = group_.in_order(std::move(figures), held_out_.count, width);
  for (auto batch = figures.begin(); batch != figures.end(); batch += width) {
    const auto counted = static_cast<int64_t>(batch[1]);
    score_.right += static_cast<int64_t>(batch[2]);
    if (counted == 0) continue;
    score_.loss.add(batch[0], counted);
    for (size_t m = 0; m < means.size(); ++m) means[m].add(batch[3 + m], counted);
  }
  result_.evaluation_peak_bytes = std::max(result_.evaluation_peak_bytes, pool_.stats().peak.bytes);
  runner_.release_arena();  // the evaluation's
  pool_.reset_peak();

  mean_loss_ = round_loss_.value();
  round_loss_ = {};
  best_ = early_.observe(score_.loss.value());
  Evaluation evaluation = last();
  for (size_t m = 0; m < means.size(); ++m)
    evaluation.figures.emplace_back(objective.metrics[m].name, means[m].value());
  journal_.evaluated(evaluation);
}

Evaluation Trainer::last() const {
  Evaluation evaluation{.batches = batches_, .mean_loss = mean_loss_};
  evaluation.figures.emplace_back("val_loss", score_.loss.value());
  if (options_.objective.guess) evaluation.figures.emplace_back("accuracy", score_.accuracy());
  if (options_.objective.perplexity)
    evaluation.figures.emplace_back("perplexity", score_.perplexity());
  return evaluation;
}

void Trainer::save() {
  drain_losses(0);
  saves_->save(batches_, state_, best_);
  saved_ = batches_;
}

Result Trainer::finish() {
  drain_losses(0);
  if (saves_ && saved_ != batches_) save();
  if (saves_) saves_->finish();
  result_.evaluations = journal_.evaluations();
  result_.last = last();
  result_.skipped = step_.skipped(batches_);
  result_.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  if (group_.asked())
    result_.ranks =
        gathered(*group_.ranks(),
                 Result::RankBytes{result_.planned.training, result_.peak_bytes,
                                   result_.planned.evaluation, result_.evaluation_peak_bytes});
  result_.over = batches_ >= length_.batches || early_.reached();
  const int64_t updates = windows_.before(batches_);
  check<NumericError>(result_.skipped < updates || updates == 0,
                      "train: no update was made: loss scaling left out all ", updates,
                      " of them. Lower the loss scale or the learning rate.");
  if (!result_.over) {
    const std::string stopped =
        cat("stopped after ", batches_, " batches; ",
            saves_ ? cat("resume goes on from ", options_.run)
                   : std::string("nothing is kept, as there is no folder for the run"),
            ".");
    if (stop_asked()) throw Interrupted(stopped);
    std::printf("%s\n", stopped.c_str());
  } else if (early_.reached()) {
    std::printf("stopped early: %lld evaluations without a lower loss than %.4f\n",
                static_cast<long long>(early_.waited), early_.best);
  }
  return result_;
}

}  // namespace plimsoll::train
