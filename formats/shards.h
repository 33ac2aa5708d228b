// Tensors of several safetensors files, as Hugging Face lays them out in a folder:
// model.safetensors, or several files of which model.safetensors.index.json says what lies where.
//
//   const formats::Shards shards("models/SmolLM-135M");
//   const Tensor table = shards.mapped("model.embed_tokens.weight");
//
// Files are mapped (formats/safetensors.h): nothing is copied before it is asked for. A set may be
// written anew meanwhile (train/saves.h), which replaces the index and then removes the old files:
// what is opened is the set before or the one after.
#pragma once

#include "formats/safetensors.h"

namespace plimsoll::formats {

class Shards {
 public:
  static constexpr const char* kIndex = "model.safetensors.index.json";

  // Of such a folder, of an index, or of one file of safetensors. DataError: no such files, a shard
  // that is missing, damaged or without what the index says of it, a tensor that is in two, one
  // that the index leaves out.
  explicit Shards(const std::filesystem::path& path);

  const std::vector<Safetensors>& files() const { return files_; }
  const Metadata& metadata() const { return files_.front().metadata(); }
  std::vector<std::string> names() const;  // in the order of their bytes
  bool has(const std::string& name) const { return places_.contains(name); }
  Meta meta(const std::string& name) const { return file_of(name).meta(name); }
  // These as of Safetensors. DataError where there is none of this name.
  Tensor tensor(const std::string& name) const { return file_of(name).tensor(name); }
  Tensor mapped(const std::string& name) const { return file_of(name).mapped(name); }
  void read_into(const std::string& name, const Tensor& destination) const {
    file_of(name).read_into(name, destination);
  }
  std::string file_name(const std::string& name) const;  // where it lies, for messages
  // Names, types and shapes of all, and the first bytes of each: what tells one model from another.
  std::string beginnings() const;

 private:
  void open(const std::filesystem::path& file);
  void open_all(const std::filesystem::path& index);
  void open_named(const std::filesystem::path& path,
                  const std::map<std::string, std::string>& index);
  const Safetensors& file_of(const std::string& name) const;

  std::filesystem::path folder_, path_;  // path_: the file or the index
  std::vector<Safetensors> files_;
  std::vector<std::string> file_names_;
  std::map<std::string, size_t> places_;  // of tensors, by number of the file
};

// The text of an index: of each tensor the file that has it, and the bytes of all of them.
std::string index_text(const std::map<std::string, std::string>& files, int64_t bytes);
// What it says of each tensor. DataError, naming the file, for what is no index and for a file that
// does not lie beside it.
std::map<std::string, std::string> parse_index(std::string_view text, const std::string& name);
std::map<std::string, std::string> read_index(const std::filesystem::path& file);

}  // namespace plimsoll::formats
