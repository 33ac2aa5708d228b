// A GPT that was trained before: by train_transformer, with saves in the folder of a run, or by
// others, who published its weights and its tokenizer.
//
//   const SavedGpt gpt({.run = "runs/a"});
//   const SavedGpt published({.model = "gpt2-124M", .weights = "model.safetensors",
//                             .tokenizer = "gpt2"});
//   const std::vector<int64_t> ids = gpt.encode("KING:");
//   const auto model = gpt.make({.device = Device::cpu});
#pragma once

#include <filesystem>
#include <variant>

#include "data/text/bpe.h"
#include "data/text/text.h"
#include "examples/models/transformer_models.h"
#include "formats/safetensors.h"

namespace plimsoll::examples {

struct GptSource {
  std::string run = {};        // folder of a run, or a file that it saved; else:
  std::string model = {};      // gpt2-124M
  std::string weights = {};    // safetensors file of it
  std::string tokenizer = {};  // folder or file (data/text/bpe_files.h), where tokens are no bytes
  std::string data = {};  // of a run over bytes: where its text lies now; empty: its config says
};

// The newest save of a run is read while another process may train on: a save has its name only
// when all of it is on the disk, and is not written to after that.
class SavedGpt {
 public:
  // Reads everything but the weights. Errors, naming the option: UsageError for a source that is
  // not one of the two, for a run that is not there or of another model and a tokenizer that is
  // missing; DataError for a run without a save, on no text or on one that has changed since the
  // training, for a tokenizer of another vocabulary, and for files that are damaged.
  explicit SavedGpt(const GptSource& source);

  const std::string& name() const { return name_; }
  const GptSize& size() const { return size_; }

  // UsageError for bytes that the training text did not have.
  std::vector<int64_t> encode(const std::string& text) const;
  std::string decode(int64_t token) const;

  // The model with its weights, rounded to the placement's type; on the device without bytes its
  // shapes alone. What is read passes through memory in no plan and no limit. DataError.
  std::unique_ptr<Staged> make(const Placement& placement) const;

 private:
  void open_run(const GptSource& source);
  void open_published(const GptSource& source);
  void open_tokenizer(const std::string& path);
  void open_text(const std::string& source, bool of_run, const formats::Metadata& trained_on);
  void read_save(const Staged& model) const;
  void read_published(const Staged& model) const;

  std::string name_;
  GptSize size_;
  bool published_ = false;
  std::filesystem::path weights_;
  std::variant<std::monostate, data::Vocabulary, data::BytePairEncoding> tokens_;
};

}  // namespace plimsoll::examples
