// A language model that was trained before: by train_transformer, with saves in the folder of a
// run, or by others, who published its weights and its tokenizer, in a folder
// (nn/published/model.h) or as files of GPT-2.
//
//   const SavedGpt gpt({.run = "runs/a"});
//   const SavedGpt published({.model = "gpt2-124M", .weights = "model.safetensors",
//                             .tokenizer = "gpt2"});
//   const SavedGpt smol({.model = "models/SmolLM-135M", .adapter = "runs/b/adapter"});
//   const std::vector<int64_t> ids = gpt.encode("KING:");
//   const auto model = gpt.make({.device = Device::cpu}, /*context=*/128);
#pragma once

#include <filesystem>
#include <variant>

#include "data/text/bpe.h"
#include "data/text/text.h"
#include "examples/models/transformer_models.h"
#include "formats/safetensors.h"
#include "nn/published/model.h"

namespace plimsoll::examples {

struct GptSource {
  std::string run = {};      // folder of a run, or a file that it saved; else:
  std::string model = {};    // gpt2-124M, or a folder as Hugging Face has it
  std::string adapter = {};  // of such a folder: one in PEFT's form
  std::string base = {};     // of such a folder's matrices: int8, nf4; empty: the placement's type
  std::string weights = {};  // safetensors file of gpt2-124M
  std::string tokenizer = {};  // folder or file (data/text/bpe_files.h), where tokens are no bytes
  std::string data = {};  // of a run over bytes: where its text lies now; empty: its config says
};

// The newest save of a run is read while another process may train on: a save has its name only
// when all of it is on the disk. A set of ranks may be written anew, and is then read as it was or
// as it is (formats/shards.h).
class SavedGpt {
 public:
  // Reads everything but the weights. Errors, naming the option: UsageError for a source that is
  // not one of the two, for a run that is not there or of another model and a tokenizer that is
  // missing; DataError for a run without a save, on no text or on one that has changed since the
  // training, for a tokenizer of another vocabulary, and for files that are damaged.
  explicit SavedGpt(const GptSource& source);

  const std::string& name() const { return name_; }
  int64_t context() const;  // positions that it has

  // With what belongs before a text that begins. UsageError for bytes that the training text did
  // not have.
  std::vector<int64_t> encode(const std::string& text) const;
  std::string decode(int64_t token) const;
  bool is_end(int64_t token) const;  // of a text

  // The model with its weights, rounded to the placement's type, for so many positions; on the
  // device without bytes its shapes alone. What is read passes through memory in no plan and no
  // limit; weights of a folder that have that type lie in its files. DataError.
  std::unique_ptr<nn::Module> make(const Placement& placement, int64_t context) const;

 private:
  void open_run(const GptSource& source);
  void open_published(const GptSource& source);
  void open_folder(const GptSource& source);
  void open_tokenizer(const std::string& path);
  void open_text(const std::string& source, bool of_run, const formats::Metadata& trained_on);
  std::unique_ptr<nn::Module> make_of_folder(const Placement& placement, int64_t context) const;
  void read_save(const Staged& model) const;
  void read_published(const Staged& model) const;

  std::string name_;
  GptSize size_;
  bool published_ = false;
  std::filesystem::path weights_;  // of a folder: it
  std::filesystem::path adapter_;
  std::optional<published::Config> config_;  // of a folder
  std::optional<nn::LoraOptions> lora_;
  std::optional<Quantisation> quantised_;
  std::variant<std::monostate, data::Vocabulary, data::BytePairEncoding> tokens_;
};

}  // namespace plimsoll::examples
