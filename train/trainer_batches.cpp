// What the Trainer does with a batch: trains it, alone or as one of the ranks that share a window,
// hears of its loss, evaluates it.
#include "ops/random/dropout/dropout.h"
#include "train/find_nan.h"
#include "train/pictures/pictures.h"
#include "train/trainer.h"

namespace plimsoll::train {

// No evaluation is planned beside the batch: it ends here.
Runner::Trained Trainer::train_batch(FindNan& find_nan, int64_t number, bool last, bool drawn) {
  const data::Batch batch = training_.at(number);
  const Metas& kind = training_.kinds.front();
  check<ShapeError>(batch.x.meta() == kind[0] && batch.y.meta() == kind[1], "train: batch ", number,
                    " is not like the others: ", batch.x.meta(), " and ", batch.y.meta(), ", not ",
                    kind[0], " and ", kind[1], ". Make all of them alike.");
  const Tensor key = make_key(options_.seed, static_cast<uint64_t>(number), device_);
  // On a GPU all of them: to ask would make the host wait.
  labels_ = batch.y.device() == Device::cpu ? counted_labels(batch.y) : batch.y.count();
  Runner::Trained trained = find_nan.watch(number, last, [&] {
    return runner_.train(number, {batch.x, batch.y, key}, drawn);
  });
  pictures_->draw_pool(pool_);
  return trained;
}

bool Trainer::draws(int64_t number) const {
  return options_.histograms > 0 && (windows_.before(number) + 1) % options_.histograms == 0;
}

void Trainer::draw(const std::vector<Tensor>& gradients) {
  if (gradients.empty()) return;
  drain_losses(0);
  journal_.histograms(batches_, model_.named_parameters(), gradients);
}

void Trainer::train_alone(FindNan& find_nan) {
  const int64_t number = batches_;
  step_.prepare(number);
  const bool last = windows_.ends_with(number);
  const auto [loss, gradients] = train_batch(find_nan, number, last, last && draws(number));
  ++batches_;
  trained_.push_back({loss, batches_, labels_, step_.learning_rate()});
  drain_losses(loss.known() ? 0 : kMostPendingLosses);
  draw(gradients);
}

// This rank's share of the next window. Then every rank hears of all losses, and of one that was
// asked to stop.
void Trainer::train_window(FindNan& find_nan) {
  const int64_t start = batches_, parts = windows_.parts(start);
  const optim::RankShare share = step_.prepare_window(start);
  group_.note(cat("in the batches ", start + 1, " to ", start + parts),
              1 + (saved_ == start ? RankGroup::kSaveTimes : 0));
  // Where a run has no batch, one of the epoch's first window does: it counts nothing.
  const int64_t any = windows_.epoch > 0 ? start - start % windows_.epoch : start;
  std::vector<double> told(static_cast<size_t>(2 * windows_.most / group_.size() + 1));
  std::vector<Tensor> gradients;
  for (int64_t run = 0; run < share.runs; ++run) {
    step_.window().at(run, share.runs);
    const bool last = run + 1 == share.runs;
    const int64_t number = (run < share.batches ? start : any) + share.first + run;
    Runner::Trained trained = train_batch(find_nan, number, last, last && draws(start));
    told[static_cast<size_t>(2 * run)] = trained.loss.unchecked();
    told[static_cast<size_t>(2 * run + 1)] = static_cast<double>(labels_);
    gradients = std::move(trained.gradients);
  }
  told.back() = stop_->requested();
  const std::vector<double> all = gathered(*group_.ranks(), told);
  for (size_t i = told.size() - 1; i < all.size(); i += told.size())
    stop_agreed_ = stop_agreed_ || all[i] != 0;
  for (int64_t part = 0; part < parts; ++part) {
    const int64_t own = windows_.most / group_.size();
    const auto at = static_cast<size_t>(part / own * std::ssize(told) + 2 * (part % own));
    trained_.push_back({Loss(batches_, all[at]), batches_ + 1, static_cast<int64_t>(all[at + 1]),
                        step_.learning_rate()});
    ++batches_;
  }
  drain_losses(0);
  draw(gradients);
}

void Trainer::drain_losses(size_t most_left) {
  for (; trained_.size() > most_left; trained_.pop_front()) {
    const Trained& batch = trained_.front();
    const double loss = batch.loss.value();
    round_loss_.add(loss, batch.labels);
    journal_.trained(batch.batches, loss, batch.learning_rate.value());
  }
}

// Of this rank's share of the batches. Where each gathers parameters, all ranks run as many, and
// the last batch together: it may be a shorter one, which is planned in its own way.
std::vector<double> Trainer::evaluate_share() {
  const auto [begin, end] = group_.share(held_out_.count);
  std::vector<double> figures;
  const auto evaluate = [&](int64_t number, bool own) {
    const std::vector<double> some = evaluate_batch(number);
    if (own) figures.insert(figures.end(), some.begin(), some.end());
  };
  if (options_.shard < 3 || group_.size() == 1) {
    for (int64_t i = begin; i < end && !stop_->requested(); ++i) evaluate(i, true);
    return figures;
  }
  const int64_t last = held_out_.count - 1, most = last / group_.size() + 1;
  for (int64_t i = begin; i < begin + most; ++i)
    evaluate(std::clamp<int64_t>(i, 0, std::max<int64_t>(last - 1, 0)), i < end && i < last);
  evaluate(last, end == held_out_.count && begin < end);
  return figures;
}

// Loss, labels that count, right guesses, and each metric.
std::vector<double> Trainer::evaluate_batch(int64_t number) {
  const data::Batch batch = held_out_.at(number);
  const std::vector<Tensor> results = runner_.evaluate({batch.x, batch.y});
  const Objective& objective = options_.objective;
  Score one;
  const int64_t counted = one.add(results[0], objective.guess ? results[1] : Tensor(), batch.y);
  std::vector<double> figures{counted > 0 ? results[0].item() : 0, static_cast<double>(counted),
                              static_cast<double>(one.right)};
  for (size_t m = results.size() - objective.metrics.size(); m < results.size(); ++m)
    figures.push_back(counted > 0 ? results[m].item() : 0);
  return figures;
}

Result Trainer::evaluate_only() {
  check<UsageError>(resumed_, "train: nothing is saved in ", options_.resume_from,
                    ", so there is nothing to evaluate. Train first.");
  stop_.emplace();
  journal_.open({}, batches_, batches_, 0);
  if (!evaluate()) throw Interrupted("stopped in an evaluation.");
  result_.evaluations = journal_.evaluations();
  result_.last = result_.evaluations.back();
  gather_parameters();
  result_.over = over();
  return result_;
}

bool Trainer::evaluate() {
  drain_losses(0);
  result_.peak_bytes = std::max(result_.peak_bytes, pool_.stats().peak.bytes);
  journal_.evaluating(batches_);
  runner_.release_arena();  // training's
  pool_.reset_peak();
  const Objective& objective = options_.objective;
  score_ = {};
  std::vector<Mean> means(objective.metrics.size());
  group_.note(cat("in the evaluation after ", batches_, " batches"), 1 + RankGroup::kSaveTimes);
  std::vector<double> figures = evaluate_share();
  const auto [begin, end] = group_.share(held_out_.count);
  const int64_t width = 3 + std::ssize(means);
  if (group_.any(std::ssize(figures) < (end - begin) * width)) {  // made when training goes on
    stop_agreed_ = true;
    return false;
  }
  figures = group_.in_order(std::move(figures), held_out_.count, width);
  for (auto batch = figures.begin(); batch != figures.end(); batch += width) {
    const auto counted = static_cast<int64_t>(batch[1]);
    score_.right += static_cast<int64_t>(batch[2]);
    if (counted == 0) continue;
    score_.loss.add(batch[0], counted);
    for (size_t m = 0; m < means.size(); ++m)
      means[m].add(batch[3 + static_cast<std::ptrdiff_t>(m)], counted);
  }
  result_.evaluation_peak_bytes = std::max(result_.evaluation_peak_bytes, pool_.stats().peak.bytes);
  runner_.release_arena();  // the evaluation's
  pool_.reset_peak();

  if (round_loss_.count > 0) mean_loss_ = round_loss_.value();
  round_loss_ = {};
  best_ = early_.observe(score_.loss.value());
  Evaluation evaluation = last();
  for (size_t m = 0; m < means.size(); ++m)
    evaluation.figures.emplace_back(objective.metrics[m].name, means[m].value());
  journal_.evaluated(evaluation);
  return true;
}

}  // namespace plimsoll::train
