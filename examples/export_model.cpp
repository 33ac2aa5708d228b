// Writes a published model anew, with an adapter merged into its weights: as a folder for
// transformers, or as a file for llama.cpp.
//
//   export_model --model models/SmolLM-135M --adapter runs/a/adapter --output merged
//   export_model --model models/SmolLM-135M --output small.gguf --format q4_0
#include "examples/common/options.h"
#include "examples/models/tuning.h"
#include "nn/published/adapter.h"
#include "nn/published/export.h"
#include "nn/published/gguf.h"

namespace plimsoll::examples {
namespace {

struct ExportOptions : Options {
  std::string adapter, base, output, format = "folder";
};

void write(const ExportOptions& options) {
  nn::DecoderOptions made{.quantised = quantisation_named(options.base)};
  if (!options.adapter.empty()) made.lora = published::read_adapter_options(options.adapter);
  nn::Initializer init{.draws = false};
  const auto model =
      as_usage("--adapter", [&] { return published::load(options.model, init, made); });
  if (made.lora) published::read_adapter(options.adapter, *model);
  if (options.format == "folder") {
    published::write_model(options.output, *model, options.model);
    return;
  }
  for (const formats::GgufType type :
       {formats::GgufType::f16, formats::GgufType::q8_0, formats::GgufType::q4_0})
    if (options.format == formats::name_of(type))
      published::write_gguf(options.output, *model, options.model, type);
}

}  // namespace
}  // namespace plimsoll::examples

int main(int argc, char** argv) {
  using namespace plimsoll::examples;
  ExportOptions options;
  options.model = "";
  CommandLine app{"Writes a published model as a folder, or as a file for llama.cpp."};
  app.add_option("--model", options.model, "Folder of the model as Hugging Face has it")
      ->check(not_empty())
      ->required();
  app.add_option("--adapter", options.adapter,
                 "Folder of an adapter in PEFT's form, to be merged into the weights")
      ->check(not_empty());
  app.add_option("--base", options.base,
                 "What the matrices were kept in while it was trained: int8 or nf4 [as they come]")
      ->check(one_of({"int8", "nf4"}));
  app.add_option("--output", options.output, "What is written, and is not there yet")
      ->check(not_empty())
      ->required();
  app.add_option("--format", options.format,
                 "folder, or the type of matrices in a file for llama.cpp: f16, q8_0 or q4_0")
      ->check(one_of({"folder", "f16", "q8_0", "q4_0"}))
      ->capture_default_str();
  return run_example(app, argc, argv, options, [&] { write(options); });
}
