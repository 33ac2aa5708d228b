// Trains a convolution net on images.
//
//   train_cnn                                             images the program draws itself
//   train_cnn --model lenet --data mnist:data/mnist --epochs 5
//   train_cnn --model resnet8 --data cifar10:data/cifar10 --augment crop,flip
//   train_cnn --model resnet50 --data synthetic --batch 256 --precision f16 --device cuda
#include "autograd/gradients.h"
#include "autograd/no_grad.h"
#include "data/images/augment.h"
#include "data/source.h"
#include "examples/common/budget.h"
#include "examples/common/find_nan.h"
#include "examples/common/image_feed.h"
#include "examples/common/options.h"
#include "examples/common/session.h"
#include "examples/common/synthetic.h"
#include "examples/models/cnn_models.h"
#include "examples/models/weights.h"
#include "examples/pictures/pictures.h"
#include "memory/pool/pooled_allocator.h"
#include "ops/ops.h"
#include "optim/adam.h"
#include "optim/async_count.h"
#include "optim/prune.h"
#include "optim/schedule.h"
#include "optim/scheduled_rate.h"

namespace plimsoll::examples {
namespace {

// Those of a training step, without the key; the last batch may be smaller.
std::vector<Metas> evaluation_inputs(const Metas& training, int64_t batch, int64_t images) {
  const int64_t full = std::min(batch, images), rest = images % full;
  std::vector<Metas> all;
  for (const int64_t count : {full, rest}) {
    if (count == 0) continue;
    all.push_back({training[0], training[1]});
    for (Meta& meta : all.back()) meta.shape[0] = count;
  }
  return all;
}

// Nothing in the first tenth of the updates, --prune from 70 % of them on.
optim::SparsitySchedule sparsity_schedule(const Options& options, int64_t updates) {
  const int64_t every = std::max<int64_t>(1, updates / 100), begin = updates / 10;
  return {.final = options.prune,
          .begin = begin,
          .end = begin + updates * 6 / 10 / every * every,
          .frequency = every};
}

void train(const Options& options, int64_t epochs) {
  Pictures pictures(options);
  const Device device = open_device(options.device);
  PooledAllocator& pool = *default_pool(device);
  Budget budget(options, pool);
  const Precision precision = precision_named(options.precision);
  const ImageFeed feed = make_image_feed(options, device);
  const Weights weights(options, cnn_torch_layout(options.model, feed.size));

  nn::Initializer init{.seed = options.seed, .placement = {.device = device}};
  const auto model = make_cnn(options.model, feed.size, options.checkpoint, init);
  weights.read(*model);
  optim::Adam optimizer(model->parameters());
  const optim::LossScaler scaler = make_scaler(options);
  const int64_t steps = feed.batches, most = std::min(options.accumulate, steps);
  const int64_t windows = (steps + most - 1) / most;  // the last of an epoch may be shorter
  optim::Accumulation window(model->parameters(), most);
  const optim::Schedule schedule = optim::warmup_cosine(
      options.learning_rate, options.learning_rate / 100, windows / 10, epochs * windows);
  std::optional<optim::ScheduledRate> async_rate;  // where loss scaling may leave updates out
  if (scaler.current().defined()) async_rate.emplace(schedule, optimizer.steps());
  optim::AsyncCount updates_made(optimizer.steps());
  const optim::SparsitySchedule sparsity = sparsity_schedule(options, epochs * windows);
  std::optional<optim::Pruner> pruner;
  if (options.prune > 0)
    pruner.emplace(optim::prunable(model->named_parameters()),
                   optim::PruneOptions{.schedule = sparsity});

  // The whole training step: the same function eagerly and captured.
  const auto train_step = [&](Precision type, bool return_gradients = false) -> StepFunction {
    return [&, type, return_gradients](std::span<const Tensor> in) {
      if (async_rate) async_rate->set(optimizer);
      const Autocast scope(type);
      const Tensor loss = cross_entropy((*model)(in[0], nn::training(in[2])), in[1]);
      std::vector<Tensor> sums = gradients(scaler.scale(loss), model->parameters());
      sums = window.add(std::move(sums), optim::counted(in[1]));
      std::vector results{loss};
      if (!sums.empty()) {
        const auto [grads, skip] = scaler.unscale(std::move(sums));
        optimizer.update(grads, skip);
        if (pruner) pruner->apply();
        scaler.update(skip);
        if (return_gradients) results.insert(results.end(), grads.begin(), grads.end());
      }
      return results;
    };
  };
  const auto evaluation = [&](Precision type) -> StepFunction {
    return [&, type](std::span<const Tensor> in) {
      const NoGrad no_grad;
      const Autocast scope(type);
      const Tensor logits = (*model)(in[0]);
      return std::vector{cross_entropy(logits, in[1]), argmax(logits, -1)};
    };
  };
  const auto with_gradients = [&](Precision type) {
    return options.histograms > 0 ? train_step(type, /*return_gradients=*/true) : StepFunction();
  };
  Runner step(train_step(precision), options.captured(), budget.step_options(feed.host_bytes),
              &window, evaluation(precision), with_gradients(precision));

  std::printf("%s, %lld parameters, %s, %s, %s\n", options.model.c_str(),
              static_cast<long long>(model->parameter_count()), feed.name.c_str(),
              options.mode.c_str(), options.precision.c_str());
  Session session(options,
                  {.unit = "epoch",
                   .unit_batches = steps,
                   .batches = epochs * steps,
                   .round = steps,
                   .held_out = "test",
                   .amount = "images/s",
                   .batch_amount = options.batch},
                  pool);
  session.state()
      .same("model", options.model)
      .same("data", feed.identity)
      .same("seed", cat(options.seed))
      .same("batch", cat(options.batch))
      .same("accumulate", cat(most))
      .same("augment", options.augment)
      .same("prune", cat(options.prune))
      .may_change("loss scale", loss_scale_of(options), "loss_scaler.", "window.")
      .tensors("", model->named_parameters())
      .tensors("", model->named_buffers())
      .tensors("optimizer.", optimizer.state())
      .tensors("loss_scaler.", scaler.state())
      .tensors("pruner.", pruner ? pruner->state() : decltype(pruner->state())())
      .tensors("window.", window.state(), [&] { return session.batches() % steps % most != 0; });
  session.begin();

  const Meta image = {
      {options.batch, feed.size.height, feed.size.width, feed.size.channels}, DType::f32, device};
  const Metas metas{image, {{options.batch}, DType::i64, device}, make_key(0, 0, device).meta()};
  const Planned planned =
      budget.plan(step,
                  {metas,
                   {steps - (windows - 1) * most, most},
                   evaluation_inputs(metas, options.batch, feed.test_images),
                   feed.data_bytes},
                  model->parameters(), window, {train_step, evaluation, with_gradients});
  session.planned(planned);
  pictures.draw_plan(step, metas, train_step(precision), window);
  if (options.plan_only) return;

  FindNan find_nan(options, scaler, optimizer.steps());
  const int64_t first = session.batches();
  double rate = 0;
  const auto ended = [&](int64_t batches) {  // windows
    return batches / steps * windows + batches % steps / most;
  };
  const int64_t left_out = ended(first) - optimizer.steps_made();  // by loss scaling, before
  while (session.running()) {
    const int64_t number = session.batches(), in_epoch = number % steps, part = in_epoch % most;
    if (in_epoch == 0 || number == first) feed.start(number / steps, in_epoch);
    if (async_rate) {
      async_rate->next();
      if (pruner && part == 0) {
        updates_made.next();
        if (updates_made.any([&](int64_t made) { return sparsity.due(made); }))
          pruner->prune(updates_made.exact());
      }
    } else if (part == 0 || number == first) {
      const int64_t made = ended(number) - left_out;
      rate = schedule(made);
      optimizer.set_learning_rate(rate);
      if (pruner && part == 0) pruner->prune(made);
    }
    const int64_t parts = std::min(most, steps - in_epoch + part);
    window.at(part, parts);
    const bool drawn = part + 1 == parts && session.histograms_due(ended(number));
    {  // no evaluation is planned beside the batch
      const data::Batch batch = feed.next();
      const Tensor key = make_key(options.seed, static_cast<uint64_t>(number), device);
      const auto [loss, gradients] = find_nan.watch(number, part + 1 == parts, [&] {
        return step.train(number, {batch.x, batch.y, key}, drawn);
      });
      pictures.draw_pool(pool);
      session.trained(loss, batch.y.count(),
                      async_rate ? AsyncReadBack(optimizer.learning_rate()) : rate);
      session.histograms(model->named_parameters(), gradients);
    }
    if (session.evaluation_due()) {
      feed.start_test();
      session.evaluate(step, feed.next_test);
    }
    session.save_when_due();
  }
  const bool over =
      session.finish(facts(options), ended(session.batches()) - optimizer.steps_made());
  if (pruner) {
    pruner->strip();
    std::printf("%s", pruner->sparsity().text().c_str());
  }
  if (over) weights.write(*model);
}

}  // namespace
}  // namespace plimsoll::examples

int main(int argc, char** argv) {
  using namespace plimsoll::examples;
  Options options;
  options.batch = 128;
  options.learning_rate = 2e-3;
  int64_t epochs = 5;
  CommandLine app{"Trains a convolution net on images and says what memory it takes."};
  add_options(app, options, cnn_names());
  add_budget_options(app, options);
  add_picture_options(app, options);
  add_run_options(app, options);
  add_weight_options(app, options);
  app.add_option("--data", options.data,
                 plimsoll::cat(plimsoll::data::kImageSources, " | ", kSynthetic))
      ->capture_default_str();
  app.add_option("--image-size", options.image_size,
                 "Height and width of synthetic images; 0: the model's own")
      ->check(whole_number(0, 4096))
      ->capture_default_str();
  app.add_option("--epochs", epochs, "Times through the training images")
      ->check(whole_number(1, kMany))
      ->capture_default_str();
  app.add_option("--prune", options.prune, "Share of the weights to prune, as in 0.8")
      ->check(probability());
  app.add_option("--augment", options.augment, plimsoll::data::kAugmentations)
      ->capture_default_str();
  app.add_option("--workers", options.workers, "Threads that prepare batches; 0: none")
      ->check(whole_number(0, 64))
      ->capture_default_str();
  return run_example(app, argc, argv, options, [&] { train(options, epochs); });
}
