#include "examples/measure/comparison.h"

#include <algorithm>
#include <chrono>

#include "autograd/gradients.h"
#include "core/base/hash.h"
#include "data/images/builtin_images.h"
#include "data/loader.h"
#include "data/text/builtin_text.h"
#include "data/text/passages.h"
#include "examples/common/synthetic.h"
#include "examples/measure/own_process.h"
#include "examples/models/cnn_models.h"
#include "examples/models/transformer_models.h"
#include "memory/pool/pooled_allocator.h"
#include "memory/step/passes.h"
#include "ops/ops.h"
#include "optim/adam.h"
#include "train/runner.h"

namespace plimsoll::examples {
namespace {

constexpr BudgetOptions kPlanning{.search_seconds = 0.25};

struct Subject {
  std::unique_ptr<Staged> model;
  data::Batch batch;
};

const data::TextDataset& shared_text() {
  static const data::TextDataset text =
      data::split_text("builtin", data::read_sources(data::source_folder()));
  return text;
}

const data::PassageDataset& shared_passages() {
  static const data::PassageDataset passages =
      data::make_passages(shared_text(), {.vocabulary = TextClassifierSize{}.vocabulary});
  return passages;
}

Subject make_subject(const Case& c, Device device, uint64_t seed) {
  nn::Initializer init{.seed = seed, .placement = {.device = device}};
  if (c.model == "gpt") {
    const data::TextDataset& text = shared_text();
    const GptSize size{.vocabulary = text.vocabulary.size()};
    const data::WindowAttrs window{.batch = c.batch, .context = size.context, .device = device};
    return {make_gpt(size, c.checkpoint, init), data::random_windows(text.train, window, seed, 0)};
  }
  if (c.model == "textcls") {
    const TextClassifierSize size;
    const data::WindowAttrs window{.batch = c.batch, .context = size.context, .device = device};
    return {make_text_classifier(size, c.checkpoint, init),
            data::random_passages(shared_passages(), window, seed, 0)};
  }
  if (c.model == "gpt2-124M")
    return {make_gpt(kGpt2, c.checkpoint, init),
            synthetic_tokens(kGpt2.vocabulary, c.batch, kGpt2.context, seed, device)};
  if (is_published(c.model)) {
    const ImageSize size = own_images(c.model);
    return {make_cnn(c.model, size, c.checkpoint, init),
            synthetic_images(size, c.batch, seed, device)};
  }
  const data::ImageDataset images = data::draw_images(data::Split::train, {.count = c.batch});
  data::Loader loader(images, {.batch = c.batch, .prefetch = 0, .device = device});
  loader.start(0);
  return {make_cnn(c.model, {images.height, images.width, images.channels, images.classes},
                   c.checkpoint, init),
          *loader.next()};
}

uint64_t digest(const Tensor& tensor, uint64_t hash) {
  const Tensor dense = to_device(contiguous(tensor), Device::cpu);
  const auto bytes = static_cast<size_t>(bytes_of(dense.meta()));
  return fnv1a(std::span(view_of(dense.value()).as<const std::byte>(), bytes), hash);
}

Measured measure_here(const Case& c, Device device, int steps, uint64_t seed) {
  const int64_t resident_before = begin_growth();
  const auto pool = std::make_shared<PooledAllocator>(provider_of(device));
  const AllocatorScope scope(pool);
  Measured row{.digest = kFnvStart};
  const Subject subject = make_subject(c, device, seed);
  const nn::Module& model = *subject.model;
  const data::Batch& batch = subject.batch;
  const std::vector<Tensor> parameters = model.parameters();
  optim::Adam optimizer(parameters);
  optimizer.set_learning_rate(1e-3);
  const Tensor key = make_key(seed, 0, device);
  const std::array inputs{batch.x, batch.y, key};

  const auto loss_of = [&](std::span<const Tensor> in) {
    const Autocast autocast(c.precision);
    return cross_entropy(model(in[0], nn::training(in[2])), in[1]);
  };
  const StepFunction train = [&](std::span<const Tensor> in) {
    const Tensor loss = loss_of(in);
    optimizer.update(gradients(loss, parameters));
    return std::vector{loss};
  };
  const StepFunction differentiate = [&](std::span<const Tensor> in) {
    const Tensor loss = loss_of(in);
    std::vector<Tensor> results = gradients(loss, parameters);
    results.insert(results.begin(), loss);
    return results;
  };
  const Metas metas{batch.x.meta(), batch.y.meta(), key.meta()};
  if (c.share != 0) {
    const BudgetPlanner planner = budget_planner(capture_live(train, metas), kPlanning);
    row.budget_bytes =
        c.share == kSmallest ? planner.smallest() : planner.largest() / 100 * c.share;
    row.refused = !planner.possible(row.budget_bytes);
    if (row.refused) return row;
  }
  {
    train::Runner step(train, c.captured, {.budget = row.budget_bytes, .planning = kPlanning});
    if (const Plan* plan = step.plan(metas)) {
      row.planned_bytes = plan->total_bytes();
      row.lower_bound_bytes = plan->total_bytes() - plan->arena_bytes + plan->lower_bound;
      row.at_peak = plan->at_peak;
    }
    pool->reset_peak();
    std::vector<double> milliseconds;
    for (int i = 0; i < steps; ++i) {
      const auto start = std::chrono::steady_clock::now();
      const Tensor loss = step.run(inputs)[0];
      row.loss = loss.item();  // waits for a GPU
      milliseconds.push_back(
          std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
              .count());
      row.digest = digest(loss, row.digest);
    }
    // Memory of a GPU is not the process's own.
    if (device == Device::cpu) row.process_bytes = peak_resident() - resident_before;
    row.measured_bytes = pool->stats().peak.bytes;
    if (!c.captured) row.at_peak = pool->stats().peak.by_class;
    if (steps > 1) milliseconds.erase(milliseconds.begin());  // it meets memory for the first time
    row.ms_per_step = std::ranges::min(milliseconds);
  }
  // The gradients themselves, in the same mode, with as much recompute as there can be.
  int64_t least = StepOptions::kNoBudget;
  if (c.share != 0)
    least = budget_planner(capture_live(differentiate, metas), kPlanning).smallest();
  train::Runner gradient_step(differentiate, c.captured, {.budget = least, .planning = kPlanning});
  for (const Tensor& result : gradient_step.run(inputs)) row.digest = digest(result, row.digest);
  return row;
}

}  // namespace

std::vector<std::string> comparable_models() {
  std::vector<std::string> names = cnn_names();
  names.insert(names.end(), text_model_names().begin(), text_model_names().end());
  return names;
}

void read_shared_data(const std::vector<std::string>& models) {
  for (const std::string& model : models) {
    if (model == "gpt") shared_text();
    if (model == "textcls") shared_passages();
  }
}

Measured measure(const Case& c, Device device, int steps, uint64_t seed) {
  return in_own_process<Measured>([&] { return measure_here(c, device, steps, seed); });
}

}  // namespace plimsoll::examples
