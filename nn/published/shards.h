// The weights of a published folder: model.safetensors, or several files of which
// model.safetensors.index.json says what lies where.
//
//   const published::Shards shards("models/SmolLM-135M");
//   const Tensor table = shards.mapped("model.embed_tokens.weight");
//
// Files are mapped (formats/safetensors.h): nothing is copied before it is asked for.
#pragma once

#include "formats/safetensors.h"

namespace plimsoll::published {

class Shards {
 public:
  // DataError: no such files, a shard that is missing, damaged or without what the index says of
  // it, a tensor that is in two, one that the index leaves out.
  explicit Shards(const std::filesystem::path& folder);

  std::vector<std::string> names() const;  // in the order of their bytes
  bool has(const std::string& name) const { return places_.contains(name); }
  Meta meta(const std::string& name) const { return file_of(name).meta(name); }
  // DataError where there is none of this name.
  Tensor mapped(const std::string& name) const { return file_of(name).mapped(name); }
  std::string file_name(const std::string& name) const;  // where it lies, for messages
  // Names, types and shapes of all, and the first bytes of each: what tells one model from another.
  std::string beginnings() const;

 private:
  void open(const std::filesystem::path& file);
  const formats::Safetensors& file_of(const std::string& name) const;

  std::filesystem::path folder_;
  std::vector<formats::Safetensors> files_;
  std::vector<std::string> file_names_;
  std::map<std::string, size_t> places_;  // of tensors, by number of the file
};

}  // namespace plimsoll::published
