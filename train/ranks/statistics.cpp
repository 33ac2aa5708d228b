#include "train/ranks/statistics.h"

#include <algorithm>
#include <array>

#include "autograd/no_grad.h"
#include "core/tensor/thread_state.h"
#include "nn/norm.h"
#include "ops/collective/all_gather/all_gather.h"
#include "ops/indexing/write_rows/write_rows.h"
#include "ops/norm/batch_norm/batch_norm.h"
#include "ops/random/full/full.h"
#include "ops/shape/view/view.h"

namespace plimsoll::train {

RankStatistics::RankStatistics(const nn::Module& model, const optim::RankWindow& window)
    : window_(window) {
  const int64_t runs = window.most_runs();
  int64_t n = 0;
  Meta like;
  model.visit([&](const std::string&, const nn::Module& module) {
    const auto* norm = dynamic_cast<const nn::BatchNorm2d*>(&module);
    if (!norm) return;
    const Tensor& running = norm->running_mean();
    check<ValueError>(layers_.empty() || running.dtype() == like.dtype,
                      "train: ranks gather running statistics of one type: ", like.dtype, " and ",
                      running.dtype(), ". Give all layers one.");
    like = running.meta();
    layers_.push_back({running.value().storage.get(), running.count(), n, {}, {}});
    n += 2 * runs * running.count();
  });
  if (layers_.empty()) return;
  const MemoryScope scope(MemoryClass::gradient);
  all_ = zeros({n}, {like.dtype, like.device});
  batches_ = zeros({}, {DType::i64, like.device});
  for (Layer& layer : layers_) {
    const int64_t c = layer.channels, middle = layer.offset + runs * c;
    layer.mean = reshape(slice(all_, 0, layer.offset, middle), {1, runs, c});
    layer.variance = reshape(slice(all_, 0, middle, middle + runs * c), {1, runs, c});
  }
}

void RankStatistics::begin(int64_t batches) {
  if (!layers_.empty()) batches_.write<int64_t>(std::array{batches});
}

void RankStatistics::begin_batch() const {
  for (const Layer& layer : layers_) layer.kept = false;
}

void RankStatistics::keep(const Tensor& running_mean, const Tensor& running_variance,
                          const Tensor& mean, const Tensor& variance, double momentum,
                          int64_t positions) const {
  const auto layer =
      std::ranges::find(layers_, running_mean.value().storage.get(), &Layer::running_mean);
  check<StateError>(layer != layers_.end(),
                    "train: these running statistics are of no layer of the model: ",
                    running_mean.meta(), ". Register the batch norm as a module.");
  if (thread_state().mode.recomputing) return;  // the first time it was kept
  check<StateError>(!layer->kept, "train: ranks gather the statistics of a batch norm once a ",
                    "batch, and one is used twice: ", running_mean.meta(),
                    ". Use two layers, or train it without ranks.");
  layer->kept = true;
  layer->into_mean = running_mean;
  layer->into_variance = running_variance;
  layer->momentum = momentum;
  layer->positions = positions;
  const NoGrad scope;
  const Shape row{1, 1, layer->channels};
  write_rows(layer->mean, reshape(mean, row), window_.run());
  write_rows(layer->variance, reshape(variance, row), window_.run());
}

bool RankStatistics::moves(const Storage* buffer) const {
  return std::ranges::any_of(layers_, [&](const Layer& layer) {
    return layer.positions > 0 && (layer.into_mean.value().storage.get() == buffer ||
                                   layer.into_variance.value().storage.get() == buffer);
  });
}

void RankStatistics::apply() const {
  if (layers_.empty()) return;
  const NoGrad scope;
  const Tensor gathered = all_gather(all_);  // [N, n]
  const int64_t runs = window_.most_runs(), batches = gathered.size(0) * runs;
  for (const Layer& layer : layers_) {
    if (layer.positions == 0) continue;  // it took no part
    const int64_t c = layer.channels;
    const auto of_all = [&](int64_t begin) {
      return reshape(slice(gathered, 1, begin, begin + runs * c), {batches, c});
    };
    update_running_stats(layer.into_mean, layer.into_variance, of_all(layer.offset),
                         of_all(layer.offset + runs * c), layer.momentum, layer.positions,
                         batches_);
  }
}

}  // namespace plimsoll::train
