// Trains a transformer on text.
//
//   train_transformer                                     a small GPT on the project's own sources
//   train_transformer --model gpt --data text:input.txt   nanoGPT's recipe for a CPU
//   train_transformer --model textcls                     which part of the text is this from?
//   train_transformer --model gpt2-124M --data tokens:input.tokens --weights model.safetensors
#include <functional>

#include "autograd/gradients.h"
#include "autograd/no_grad.h"
#include "core/base/hash.h"
#include "data/source.h"
#include "data/text/passages.h"
#include "examples/common/budget.h"
#include "examples/common/find_nan.h"
#include "examples/common/options.h"
#include "examples/common/session.h"
#include "examples/common/synthetic.h"
#include "examples/models/gpt_optimizer.h"
#include "examples/models/transformer_models.h"
#include "examples/models/weights.h"
#include "examples/pictures/pictures.h"
#include "memory/pool/pooled_allocator.h"
#include "ops/ops.h"
#include "optim/clip.h"
#include "optim/schedule.h"
#include "optim/scheduled_rate.h"

namespace plimsoll::examples {
namespace {

// A task: where batches come from and how they are judged. Both models are the same to train().
struct Task {
  std::unique_ptr<Staged> model;
  std::function<data::Batch(int64_t number, Device device)> batch, test_batch;
  int64_t test_batches;
  int64_t data_bytes;
  std::string data;  // what tells it from other data
  int64_t context;
  nn::TorchLayout layout = {};  // of its weights in files
};

struct TextOptions : Options {
  int64_t steps = 2000, eval_every = 250;
  int64_t context = 0;  // 0: the model's own
  GptSize gpt;
};

// Of the first tokens: all of a large file would have to come from the disk.
uint64_t hash_of(const data::Tokens& tokens) {
  std::vector<int64_t> first(static_cast<size_t>(std::min<int64_t>(tokens.size(), 1 << 18)));
  tokens.copy(0, std::ssize(first), first.data());
  return fnv1a(std::as_bytes(std::span(first)));
}

bool is_gpt(const TextOptions& options) { return options.model != "textcls"; }

// The size of the model, but for its vocabulary, and how long its windows are.
GptSize size_of(const TextOptions& options, int64_t context) {
  if (options.model == "gpt") {
    GptSize size = options.gpt;
    check<UsageError>(size.width % size.heads == 0,
                      "--width: it is not divisible by the number of heads: ", size.width, " and ",
                      size.heads, ". Choose a multiple of --heads.");
    size.context = context;
    return size;
  }
  GptSize size = gpt_size_named(options.model);
  check<UsageError>(context <= size.context, "--context: ", options.model, " has ", size.context,
                    " positions: ", context, ". Use at most as many.");
  size.dropout = options.gpt.dropout;
  return size;
}

// One batch that is there already, in every step and for evaluation.
Task synthetic_task(std::unique_ptr<Staged> model, data::Batch batch, int64_t context) {
  return {.model = std::move(model),
          .batch = [batch](int64_t, Device) { return batch; },
          .test_batch = [batch](int64_t, Device) { return batch; },
          .test_batches = 1,
          .data_bytes = 0,
          .data = cat("synthetic, ", batch.x.shape()),
          .context = context};
}

Task make_gpt_task(const TextOptions& options, data::WindowAttrs window, nn::Initializer& init) {
  const int64_t context = window.context;
  GptSize size = size_of(options, context);
  if (options.data == kSynthetic)
    return synthetic_task(
        make_gpt(size, options.checkpoint, init),
        synthetic_tokens(size.vocabulary, options.batch, context, options.seed, window.device),
        context);
  check<UsageError>(options.model == "gpt" || options.data.starts_with("tokens:"),
                    "--data: ", options.model,
                    " reads tokens of its own vocabulary: ", options.data,
                    ". Make them with tokenize and use tokens:FILE, or synthetic.");
  const auto text = std::make_shared<data::TokenSource>(data::load_tokens(options.data));
  check<DataError>(text->validation.size() > context,
                   "the text is too short: its last tenth, for validation, has ",
                   text->validation.size(), " tokens, and --context ", context,
                   " takes one more than that. Use a longer text or a smaller --context.");
  if (options.model == "gpt") size.vocabulary = text->vocabulary;
  check<DataError>(text->vocabulary == size.vocabulary, "the tokens are of a vocabulary of ",
                   text->vocabulary, ", and ", options.model, " has one of ", size.vocabulary,
                   ". Make them with GPT-2's tokenizer.");
  return {
      make_gpt(size, options.checkpoint, init),
      [=](int64_t step, Device device) {
        return data::random_windows(text->train, {window.batch, context, device}, options.seed,
                                    static_cast<uint64_t>(step));
      },
      [=](int64_t index, Device device) {
        return data::evaluation_windows(text->validation, {window.batch, context, device}, index);
      },
      data::evaluation_batches(text->validation, window),
      text->train.bytes() + text->validation.bytes(),
      cat(text->train.size(), " tokens of ", text->vocabulary, ", ", hash_of(text->train)),
      context};
}

Task make_passage_task(const TextOptions& options, data::WindowAttrs window,
                       nn::Initializer& init) {
  const TextClassifierSize size{.context = window.context};
  if (options.data == kSynthetic)
    return synthetic_task(make_text_classifier(size, options.checkpoint, init),
                          synthetic_passages(size.vocabulary, size.classes, options.batch,
                                             size.context, options.seed, window.device),
                          size.context);
  const auto passages = std::make_shared<data::PassageDataset>(
      data::make_passages(data::load_text(options.data), {.vocabulary = size.vocabulary}));
  int64_t words = 0;
  uint64_t hash = kFnvStart;
  for (const auto* parts : {&passages->train, &passages->test})
    for (const auto& part : *parts) {
      words += std::ssize(part);
      hash = fnv1a(std::as_bytes(std::span(part)), hash);
    }
  return {make_text_classifier(size, options.checkpoint, init),
          [=](int64_t step, Device device) {
            return data::random_passages(*passages, {window.batch, size.context, device},
                                         options.seed, static_cast<uint64_t>(step));
          },
          [=](int64_t index, Device device) {
            return data::test_passages(*passages, {window.batch, size.context, device}, index);
          },
          data::test_passage_batches(*passages, window),
          words * int64_t{sizeof(int32_t)},
          cat(words, " words, ", hash),
          size.context};
}

Task make_task(const TextOptions& options, nn::Initializer& init) {
  const int64_t own = is_gpt(options) ? gpt_size_named(options.model).context : 128;
  const data::WindowAttrs window{.batch = options.batch,
                                 .context = options.context > 0 ? options.context : own,
                                 .device = device_named(options.device)};
  if (!is_gpt(options)) return make_passage_task(options, window, init);
  Task task = make_gpt_task(options, window, init);
  if (options.model == "gpt2-124M") task.layout = gpt2_torch_layout();
  return task;
}

// All test batches, one after another.
Session::Batches in_turn(const Task& task, Device device) {
  return [&task, device, index = int64_t{0}]() mutable -> std::optional<data::Batch> {
    if (index == task.test_batches) return std::nullopt;
    return task.test_batch(index++, device);
  };
}

Metas training_inputs(const Task& task, Device device) {
  const data::Batch batch = task.batch(0, device);
  return {batch.x.meta(), batch.y.meta(), make_key(0, 0, device).meta()};
}

// The inputs of the first test batch, and of the last, which may be smaller.
std::vector<Metas> evaluation_inputs(const Task& task, Device device) {
  std::vector<Metas> all;
  for (const int64_t index : {int64_t{0}, task.test_batches - 1}) {
    const data::Batch batch = task.test_batch(index, device);
    all.push_back({batch.x.meta(), batch.y.meta()});
  }
  return all;
}

void train(const TextOptions& options) {
  Pictures pictures(options);
  const Device device = open_device(options.device);
  PooledAllocator& pool = *default_pool(device);
  Budget budget(options, pool);
  const Precision precision = precision_named(options.precision);
  nn::Initializer init{.seed = options.seed, .placement = {.device = device}};
  const Task task = naming_data(options, [&] { return make_task(options, init); });
  const Weights weights(options, task.layout);
  weights.read(*task.model);
  const std::vector<Tensor> parameters = task.model->parameters();
  GptOptimizer optimizer(parameters);
  const optim::LossScaler scaler = make_scaler(options);
  optim::Accumulation window(parameters, options.accumulate);
  const optim::Schedule schedule =
      optim::warmup_cosine(options.learning_rate, options.learning_rate / 10,
                           std::min<int64_t>(100, options.steps / 10), options.steps);
  std::optional<optim::ScheduledRate> async_rate;  // where loss scaling may leave updates out
  if (scaler.current().defined()) async_rate.emplace(schedule, optimizer.steps());

  // The whole training step: the same function eagerly and captured.
  const auto train_step = [&](Precision type, bool return_gradients = false) -> StepFunction {
    return [&, type, return_gradients](std::span<const Tensor> in) {
      if (async_rate) optimizer.set(*async_rate);
      const Autocast scope(type);
      const Tensor loss = cross_entropy((*task.model)(in[0], nn::training(in[2])), in[1]);
      std::vector<Tensor> sums = gradients(scaler.scale(loss), parameters);
      sums = window.add(std::move(sums), optim::counted(in[1]));
      std::vector results{loss};
      if (!sums.empty()) {
        const auto [grads, skip] = scaler.unscale(std::move(sums));
        optimizer.update(optim::clip_by_global_norm(grads, 1.0).grads, skip);
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
      const Tensor logits = (*task.model)(in[0]);
      return std::vector{cross_entropy(logits, in[1]), argmax(logits, -1)};
    };
  };
  const auto with_gradients = [&](Precision type) {
    return options.histograms > 0 ? train_step(type, /*return_gradients=*/true) : StepFunction();
  };
  const Metas metas = training_inputs(task, device);
  Runner step(train_step(precision), options.captured(), budget.step_options(0), &window,
              evaluation(precision), with_gradients(precision));

  const std::string data =
      options.data == kSynthetic
          ? cat("one synthetic batch, ", task.batch(0, device).x.shape(), ", in every step")
          : options.data;
  std::printf("%s, %lld parameters, %s, %s, %s\n", options.model.c_str(),
              static_cast<long long>(task.model->parameter_count()), data.c_str(),
              options.mode.c_str(), options.precision.c_str());
  const int64_t parts = options.accumulate;
  Session session(options,
                  {.unit = "step",
                   .unit_batches = parts,
                   .batches = options.steps * parts,
                   .round = options.eval_every * parts,
                   .held_out = "validation",
                   .amount = "tokens/s",
                   .batch_amount = options.batch * task.context,
                   .perplexity = is_gpt(options)},
                  pool);
  session.state()
      .same("model", options.model)
      .same("data", task.data)
      .same("seed", cat(options.seed))
      .same("batch", cat(options.batch))
      .same("accumulate", cat(parts))
      .same("context", cat(task.context))
      .same("heads", options.model == "gpt" ? cat(options.gpt.heads) : "the model's own")
      .may_change("loss scale", loss_scale_of(options), "loss_scaler.", "window.")
      .tensors("", task.model->named_parameters())
      .tensors("", task.model->named_buffers())
      .tensors("optimizer.", optimizer.state())
      .tensors("loss_scaler.", scaler.state())
      .tensors("window.", window.state(), [&] { return session.batches() % parts != 0; });
  session.begin();

  const Planned planned =
      budget.plan(step, {metas, {parts}, evaluation_inputs(task, device), task.data_bytes},
                  parameters, window, {train_step, evaluation, with_gradients});
  session.planned(planned);
  pictures.draw_plan(step, metas, train_step(precision), window);
  if (options.plan_only) return;

  FindNan find_nan(options, scaler, optimizer.steps());
  double rate = 0;
  const int64_t first = session.batches();
  const int64_t left_out = first / parts - optimizer.steps_made();  // by loss scaling, before
  while (session.running()) {
    const int64_t number = session.batches(), part = number % parts;
    if (async_rate) {
      async_rate->next();
    } else if (part == 0 || number == first) {
      rate = schedule(number / parts - left_out);
      optimizer.set_learning_rate(rate);
    }
    window.at(part, parts);
    const bool drawn = part + 1 == parts && session.histograms_due(number / parts);
    {  // no evaluation is planned beside the batch
      const data::Batch batch = task.batch(number, device);
      const Tensor key = make_key(options.seed, static_cast<uint64_t>(number), device);
      const auto [loss, gradients] = find_nan.watch(number, part + 1 == parts, [&] {
        return step.train(number, {batch.x, batch.y, key}, drawn);
      });
      pictures.draw_pool(pool);
      session.trained(loss, batch.y.count(),
                      async_rate ? AsyncReadBack(optimizer.learning_rate()) : rate);
      session.histograms(task.model->named_parameters(), gradients);
    }
    if (session.evaluation_due()) session.evaluate(step, in_turn(task, device));
    session.save_when_due();
  }
  if (session.finish(facts(options), session.batches() / parts - optimizer.steps_made()))
    weights.write(*task.model);
}

}  // namespace
}  // namespace plimsoll::examples

int main(int argc, char** argv) {
  using namespace plimsoll::examples;
  TextOptions options;
  options.batch = 12;
  options.learning_rate = 1e-3;
  CommandLine app{"Trains a transformer on text and says what memory it takes."};
  add_options(app, options, text_model_names());
  add_budget_options(app, options);
  add_picture_options(app, options);
  add_run_options(app, options);
  add_weight_options(app, options);
  app.add_option("--data", options.data,
                 plimsoll::cat(plimsoll::data::kTokenSources, " | ", kSynthetic))
      ->capture_default_str();
  app.add_option("--steps", options.steps, "Training steps")
      ->check(whole_number(1, kMany))
      ->capture_default_str();
  app.add_option("--eval-every", options.eval_every, "Steps between evaluations")
      ->check(whole_number(1, kMany))
      ->capture_default_str();
  app.add_option("--context", options.context,
                 "Tokens in a window; 0: 64 (gpt), 1024 (gpt2-124M), 128 (textcls)")
      ->check(whole_number(0, kMany))
      ->capture_default_str();
  app.add_option("--layers", options.gpt.layers, "gpt: blocks")
      ->check(whole_number(1, kDeepest))
      ->capture_default_str();
  app.add_option("--heads", options.gpt.heads, "gpt: attention heads")
      ->check(whole_number(1, kDeepest))
      ->capture_default_str();
  app.add_option("--width", options.gpt.width, "gpt: width")
      ->check(whole_number(1, kWidest))
      ->capture_default_str();
  app.add_option("--dropout", options.gpt.dropout, "gpt, gpt2-124M: dropout")
      ->check(probability())
      ->capture_default_str();
  app.parse_complete_callback([&] {
    for (const char* name : {"--layers", "--heads", "--width", "--dropout"}) {
      const bool takes = options.model == "gpt" ||
                         (options.model == "gpt2-124M" && name == std::string("--dropout"));
      if (!takes)
        takes_none(app, options.model,
                   options.model == "textcls" ? "a fixed size and dropout" : "a fixed size",
                   {name});
      app.get_option(name)->configurable(takes);  // a run's config has it or not
    }
    if (app.count("--data") > 0) return;
    options.data = options.model == "gpt2-124M" ? kSynthetic : "builtin";
    app.get_option("--data")->default_str(options.data);  // for the config
  });
  return run_example(app, argc, argv, options, [&] { train(options); });
}
