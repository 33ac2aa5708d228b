#include "examples/common/text_data.h"

#include "data/source.h"
#include "data/text/passages.h"
#include "examples/common/synthetic.h"

namespace plimsoll::examples {
namespace {

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

using MakeModel = decltype(TextTask::make);

MakeModel gpt_of(const GptSize& size, const TextOptions& options) {
  return [size, checkpoint = options.checkpoint](nn::Initializer& init) {
    return make_gpt(size, checkpoint, init);
  };
}

TextTask synthetic_task(MakeModel make, const data::Batch& batch, int64_t context) {
  train::Batches validation = synthetic_batches(batch, "tokens", batch.x.count());
  validation.split = "validation";
  train::Batches training = validation;
  training.count = 0;
  return {std::move(make), training, validation, context};
}

// `at` and the rest of a text's batches, which have no epochs.
TextTask task_of(MakeModel make, const TextOptions& options, int64_t context) {
  TextTask task{std::move(make), {}, {}, context};
  task.training.name = options.data;
  task.training.item = "tokens";
  task.training.items = options.batch * context;
  task.validation.split = "validation";
  return task;
}

TextTask gpt_task(const TextOptions& options, data::WindowAttrs window) {
  const int64_t context = window.context;
  GptSize size = size_of(options, context);
  if (options.data == kSynthetic)
    return synthetic_task(
        gpt_of(size, options),
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
  TextTask task = task_of(gpt_of(size, options), options, context);
  task.training.at = [text, window, seed = options.seed](int64_t number) {
    return data::random_windows(text->train, window, seed, static_cast<uint64_t>(number));
  };
  task.training.identity = identity_of(text->train, text->validation, text->vocabulary);
  task.training.data_bytes = text->train.bytes() + text->validation.bytes();
  task.validation.at = [text, window](int64_t index) {
    return data::evaluation_windows(text->validation, window, index);
  };
  task.validation.count = data::evaluation_batches(text->validation, window);
  return task;
}

TextTask passage_task(const TextOptions& options, data::WindowAttrs window) {
  const TextClassifierSize size{.context = window.context};
  const MakeModel make = [size, checkpoint = options.checkpoint](nn::Initializer& init) {
    return make_text_classifier(size, checkpoint, init);
  };
  if (options.data == kSynthetic)
    return synthetic_task(make,
                          synthetic_passages(size.vocabulary, size.classes, options.batch,
                                             size.context, options.seed, window.device),
                          size.context);
  const auto passages = std::make_shared<data::PassageDataset>(
      data::make_passages(data::load_text(options.data), {.vocabulary = size.vocabulary}));
  int64_t words = 0;
  std::string hash;
  for (const auto* parts : {&passages->train, &passages->test})
    for (const auto& part : *parts) {
      words += std::ssize(part);
      hash = train::fingerprint(std::as_bytes(std::span(part)), hash);
    }
  TextTask task = task_of(make, options, size.context);
  task.training.at = [passages, window, seed = options.seed](int64_t number) {
    return data::random_passages(*passages, window, seed, static_cast<uint64_t>(number));
  };
  task.training.identity = {{"data", cat(words, " words")}, {kTokens, hash}};
  task.training.data_bytes = words * int64_t{sizeof(int32_t)};
  task.validation.at = [passages, window](int64_t index) {
    return data::test_passages(*passages, window, index);
  };
  task.validation.count = data::test_passage_batches(*passages, window);
  return task;
}

}  // namespace

train::Identity identity_of(const data::Tokens& train, const data::Tokens& validation,
                            int64_t vocabulary) {
  return {{"data", cat(train.size(), " tokens of ", vocabulary)},
          {kTokens, train::fingerprint(validation.raw(), train::fingerprint(train.raw()))}};
}

bool is_gpt(const TextOptions& options) { return options.model != "textcls"; }

TextTask text_task(const TextOptions& options) {
  const int64_t own = is_gpt(options) ? gpt_size_named(options.model).context : 128;
  const data::WindowAttrs window{.batch = options.batch,
                                 .context = options.context > 0 ? options.context : own,
                                 .device = device_named(options.device)};
  if (!is_gpt(options)) return passage_task(options, window);
  TextTask task = gpt_task(options, window);
  if (options.model == "gpt2-124M") task.layout = gpt2_torch_layout();
  return task;
}

void add_text_options(CommandLine& app, TextOptions& options) {
  app.add_option("--data", options.data, cat(data::kTokenSources, " | ", kSynthetic))
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
}

}  // namespace plimsoll::examples
