#include "train/trainer.h"

#include <cstdio>
#include <filesystem>

#include "core/cpu/gemm/bfloat16.h"
#include "core/cpu/pages.h"
#include "core/cpu/threads.h"
#include "data/atomic_file.h"
#include "ops/ops.h"
#include "train/checked.h"
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

Windows windows_of(const TrainOptions& options, const Batches& training) {
  if (options.steps > 0) return {.most = options.accumulate};
  check<ValueError>(training.count > 0,
                    "train: these batches have no epochs. Say how many steps to train.");
  return {.most = std::min(options.accumulate, training.count), .epoch = training.count};
}

RunLength length_of(const TrainOptions& options, const Batches& training, const Batches& held_out,
                    const Windows& windows) {
  check_data(training, held_out, options.objective);
  const bool epochs = options.epochs > 0;
  const int64_t unit = epochs ? training.count : options.accumulate;
  return {.unit = epochs ? "epoch" : "step",
          .unit_batches = unit,
          .batches = unit * (epochs ? options.epochs : options.steps),
          .windows = windows,
          .evaluate_every = options.evaluate_every,
          .split = held_out.split,
          .item = training.item,
          .items = training.items};
}

// What batches in preparation take at most. When an epoch ends, its loader has none left; but that
// of a rank, which leaves batches to others, may.
int64_t host_bytes(const TrainOptions& options, const Batches& training, const Batches& held_out) {
  const bool between_epochs =
      options.epochs > 0 && options.evaluate_every == 0 && options.ranks == 0;
  return between_epochs ? std::max(training.host_bytes, held_out.host_bytes)
                        : training.host_bytes + held_out.host_bytes;
}

// Nothing where no run is kept.
std::unique_ptr<RunFolder> folder_of(const TrainOptions& options) {
  if (options.run.empty() || options.plan_only || options.evaluate_only) return nullptr;
  const bool own = options.resume && (options.run == options.resume_from ||
                                      same_folder(options.run, options.resume_from));
  return std::make_unique<RunFolder>(options.run, own);
}

// A run is saved before its first evaluation: so a log that has one, and no saves, has lost them.
void check_saves_are_not_lost(const fs::path& folder) {
  for (const LogRow& row : read_log(folder))
    for (const auto& [name, value] : row.figures)
      check<DataError>(name != "val_loss" || std::isnan(value),
                       "resume: the saves of this run are gone: its log has an evaluation after ",
                       row.batches, " batches, and nothing is in ",
                       RunFolder::saves_of(folder).string(),
                       ". Put them back, or begin anew in another folder.");
}

}  // namespace

int64_t updates_of(const TrainOptions& options, const Batches& training) {
  if (options.steps > 0) return options.steps;
  return options.epochs * windows_of(options, training).in_epoch();
}

void prepare(PooledAllocator& pool, const TrainOptions& options) {
  if (options.budget != TrainOptions::kNoBudget) make_exact(pool);
  if (options.budget == TrainOptions::kWhatIsFree) share_one_heap();
  keep_history(options, pool);
}

Trainer::Trainer(nn::Module& model, optim::ParameterGroups optimizer, Batches training,
                 Batches held_out, TrainOptions options)
    : group_(options),
      model_(model),
      options_(group_.own(checked(std::move(options)))),
      training_(completed(std::move(training))),
      held_out_(completed(std::move(held_out))),
      windows_(windows_of(options_, training_)),
      length_(length_of(options_, training_, held_out_, windows_)),
      optimizer_(matched(optimizer, model)),
      device_(optimizer_.learning_rate().device()),
      weights_(group_.size() > 1 && !options_.plan_only ? weights_of(model) : ""),
      pool_(*default_pool(device_)),
      folder_(folder_of(options_)),
      pictures_(std::make_unique<Pictures>(options_)),
      budget_(options_, pool_, host_bytes(options_, training_, held_out_),
              group_.on_this_machine()),
      step_(model, optimizer_, options_, windows_, updates_of(options_, training_), group_.ranks()),
      runner_(step_.train(options_.precision), options_.captured, budget_.step_options(),
              &step_.window(), step_.evaluate(options_.precision),
              options_.histograms > 0 ? step_.train(options_.precision, true) : StepFunction()),
      journal_(options_, length_, pool_),
      early_(options_.patience) {
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
  for (const auto& [name, value] : options_.noted) state_.noted(name, value);
  for (const auto& [name, value] : training_.identity) state_.same(name, value);
  for (const auto& [name, value] : held_out_.identity)
    state_.same(cat(held_out_.split, " ", name), value);
  state_.same("seed", cat(options_.seed))
      .same("batch", cat(training_.kinds.front()[0].shape[0]))
      .same("accumulate", windows_.text())
      .may_change("loss scale", loss_scale_of(options_), "loss_scaler.", "window.");
  step_.add_to(state_, [this] { return windows_.part(batches_) != 0; });
  const int64_t own = windows_.most / group_.size();  // another training may have shared them out
  if (training_.share) training_.share(windows_.most, own * group_.number(), own);
}

Trainer::~Trainer() = default;

void Trainer::check_held(nn::Module& model, const optim::ParameterGroups& optimizer,
                         Batches training, Batches held_out, TrainOptions options) {
  if (options.budget <= 0 || options.ranks > 0 || options.evaluate_only) return;
  for (Batches* batches : {&training, &held_out}) {
    *batches = completed(std::move(*batches));
    for (Metas& kind : batches->kinds)
      for (Meta& meta : kind) meta.device = Device::null;
  }
  options.plan_only = true;
  options.resume = false;
  for (std::string* file :
       {&options.run, &options.resume_from, &options.report, &options.snapshot, &options.trace})
    file->clear();
  Trainer trainer(model, optimizer, std::move(training), std::move(held_out), std::move(options));
  trainer.budget_.check_held(trainer.runner_, trainer.workload(), trainer.step_.window());
}

Result Trainer::run() {
  const RanksScope scope(group_.ranks());
  std::string way;
  if (options_.precision == Precision::bf16 && device_ == Device::cpu &&
      bfloat16_products() != BFloat16Products::widened)
    way = cat(" ", name_of(bfloat16_products()));
  std::printf("%s, %lld parameters, %s, %s, %s%s, %d thread%s\n", options_.name.c_str(),
              static_cast<long long>(model_.parameter_count()), training_.name.c_str(),
              options_.captured ? "captured" : "eager", name_of(options_.precision), way.c_str(),
              num_threads(), num_threads() == 1 ? "" : "s");
  if (group_.asked()) say_ranks();
  group_.note("before the first step", RankGroup::kStartTimes);
  if (!options_.plan_only)
    group_.agree({{"whether they go on with a run", options_.resume ? "yes" : "no"},
                  {"whether they only evaluate", options_.evaluate_only ? "yes" : "no"}});
  if (options_.resume && !options_.plan_only) restore();
  if (options_.evaluate_only) return evaluate_only();
  first_ = batches_;
  if (!over() || evaluation_missing() || options_.plan_only) result_.planned = plan();
  std::fflush(stdout);  // whatever becomes of the first step
  if (options_.plan_only) return result_;
  if (group_.size() > 1) agree();
  keeps_ = group_.any(folder_ != nullptr);
  if (options_.resume && !resumed_)  // nothing is refused any more
    std::printf("nothing is saved in %s yet: training begins\n", options_.resume_from.c_str());
  open(result_.planned);
  train_all();
  return finish();
}

void Trainer::say_ranks() const {
  std::printf("rank %lld of %lld%s\n", static_cast<long long>(group_.number()),
              static_cast<long long>(group_.size()),
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
    if (file.empty()) check_saves_are_not_lost(options_.resume_from);
  } else if (group_.first()) {
    changed = state_.restore(file);
  }
  file = group_.from_first(file);
  if (!group_.first() && !file.empty()) changed = state_.restore(file);
  best_ = is_best(file);
  resumed_ = !file.empty();
  if (resumed_)
    std::printf("resumed after %lld batches from %s\n", static_cast<long long>(batches_),
                file.c_str());
  for (const auto& [name, before, now] : changed)
    std::printf("  %s %s from here on; it was %s\n", name.c_str(), now.c_str(), before.c_str());
  if (over() && !evaluation_missing() && !options_.evaluate_only)
    std::printf("training is over: %s; nothing is planned and nothing trained\n",
                early_.reached()
                    ? "evaluations had no lower loss any more"
                    : cat("all of its ", length_.batches, " batches were made").c_str());
  if (group_.any(own) && !file.empty()) saved_ = batches_;
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
  stop_.emplace();
  start_ = std::chrono::steady_clock::now();
  pool_.reset_peak();
  const std::string saves = group_.from_first(folder_ ? folder_->saves().string() : "");
  if (keeps_) saves_.emplace(saves, options_.keep, group_.ranks());
  const bool another = keeps_ && batches_ > 0 && saved_ != batches_;
  if (another) {  // another run's state: now it is this one's too
    save();
    saves_->finish();
  }
  if (folder_) {
    if (another && !best_ && fs::is_directory(options_.resume_from))
      copy_best(RunFolder::saves_of(options_.resume_from), folder_->saves());
    if (!options_.config.empty()) data::write_atomically(folder_->config(), options_.config);
  }
  journal_.open(folder_ ? folder_->path() : fs::path(), batches_,
                batches_ - (evaluation_missing() ? 1 : 0), planned.training);
  if (folder_ && running())
    std::printf("  saves into %s; a copy of %s of the state is outside of any plan and budget\n",
                saves.c_str(), bytes_text(state_.bytes(group_.number(), group_.size())).c_str());
}

// What a difference between ranks would ruin, before it can. Eager steps are captured for that too.
void Trainer::agree() {
  std::vector<Program> programs = runner_.capture_all(workload(), step_.window());
  step_.check_programs(programs);
  if (options_.captured && options_.shard == 3)  // plans decide what is gathered when
    programs = runner_.planned_all(workload(), step_.window());
  Facts facts = facts_of(options_, programs, updates_of(options_, training_));
  for (const auto& [name, value] : training_.identity)
    facts.emplace_back(cat("the training data, ", name), value);
  for (const auto& [name, value] : held_out_.identity)
    facts.emplace_back(cat("the data to evaluate on, ", name), value);
  facts.emplace_back("batches to evaluate on", cat(held_out_.count));
  facts.emplace_back("batches that were trained", cat(batches_));
  facts.emplace_back("weights", weights_);
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

void Trainer::train_all() {
  FindNan find_nan(options_, step_.scaler(), optimizer_.steps());
  if (evaluation_missing() && evaluate() && keeps_) save();
  while (running()) {
    group_.asked() ? train_window(find_nan) : train_alone(find_nan);
    if (saves_) saves_->look();
    best_ = false;
    if (windows_.part(batches_) == 0) look_at_updates();
    const bool evaluation = length_.evaluation_after(batches_);
    if (evaluation) {
      if (keeps_) save();  // whatever the evaluation comes to
      if (!evaluate()) return;
    }
    const bool due = options_.save_every > 0 && reached(options_.save_every);
    if (keeps_ && (evaluation || due)) save();
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

Evaluation Trainer::last() const {
  const bool any = score_.loss.count > 0;  // else nothing was evaluated
  const auto known = [&](double figure) { return any ? figure : std::nan(""); };
  Evaluation evaluation{.batches = batches_, .mean_loss = known(mean_loss_)};
  evaluation.figures.emplace_back("val_loss", known(score_.loss.value()));
  if (options_.objective.guess)
    evaluation.figures.emplace_back("accuracy", known(score_.accuracy()));
  if (options_.objective.perplexity)
    evaluation.figures.emplace_back("perplexity", known(score_.perplexity()));
  return evaluation;
}

void Trainer::save() {
  group_.note(cat("in the save after ", batches_, " batches"), 1 + RankGroup::kSaveTimes);
  drain_losses(0);
  saves_->save(batches_, state_, best_);
  saved_ = batches_;
}

// For those who read them afterwards.
void Trainer::gather_parameters() {
  if (!step_.shards()) return;
  const AllocatorScope outside(unplanned_pool(pool_.device()));
  step_.shards()->gather_for_good();
}

Result Trainer::finish() {
  drain_losses(0);
  result_.peak_bytes = std::max(result_.peak_bytes, pool_.stats().peak.bytes);
  if (keeps_ && saved_ != batches_) save();
  group_.note("at the end of training", RankGroup::kStartTimes);
  if (group_.asked())
    result_.ranks =
        gathered(*group_.ranks(),
                 Result::RankBytes{result_.planned.training, result_.peak_bytes,
                                   result_.planned.evaluation, result_.evaluation_peak_bytes});
  if (saves_) saves_->finish();
  gather_parameters();
  result_.evaluations = journal_.evaluations();
  result_.last = last();
  result_.skipped = step_.skipped(batches_);
  result_.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  result_.over = over() && !evaluation_missing();
  const int64_t updates = windows_.before(batches_);
  check<NumericError>(!result_.over || result_.skipped < updates || updates == 0,
                      "train: no update was made: loss scaling left out all ", updates,
                      " of them. Lower the loss scale or the learning rate.");
  if (!result_.over) {
    const std::string stopped =
        cat("stopped after ", batches_, " batches; ",
            keeps_ ? cat("resume goes on from ",
                         group_.first() ? options_.run : std::string("the folder of rank 0"))
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
