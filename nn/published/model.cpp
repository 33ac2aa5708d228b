#include "nn/published/model.h"

#include <cstring>
#include <set>

#include "data/file.h"
#include "formats/safetensors_header.h"
#include "formats/shards.h"
#include "formats/tensor_bytes.h"

namespace plimsoll::published {
namespace {

using nn::DecoderConfig;

// The name in the files: without the prefix where a file of the model without its head is meant.
std::string found_name(const formats::Shards& shards, const DecoderConfig& config,
                       const std::string& name) {
  const std::string full = nn::published_name(config, name);
  return shards.has(full) || !shards.has(name) ? full : name;
}

// What older versions keep among the weights: masks of GPT-2's attention, frequencies.
bool is_constant(const std::string& name) {
  return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias") ||
         name.ends_with(".rotary_emb.inv_freq");
}

bool same_bytes(const Tensor& a, const Tensor& b) {
  if (a.meta() != b.meta()) return false;
  std::vector<std::byte> space_a, space_b;
  const auto left = formats::bytes_of("weights", a, space_a);
  const auto right = formats::bytes_of("weights", b, space_b);
  return std::memcmp(left.data(), right.data(), left.size()) == 0;
}

// Refuses what is left over in the files besides the names `used`, naming it.
void check_nothing_left(const formats::Shards& shards, const DecoderConfig& config,
                        const std::set<std::string>& used) {
  const std::string head = nn::names_of(config).head + ".weight";
  for (const std::string& name : shards.names()) {
    if (used.contains(name) || is_constant(name)) continue;
    if (name == head && config.tied) {
      const std::string table = found_name(shards, config, nn::names_of(config).tokens + ".weight");
      check<DataError>(same_bytes(shards.mapped(name), shards.mapped(table)),
                       "weights: the output layer is not the token table, and the config says that "
                       "it is: \"",
                       name, "\" in ", shards.file_name(name), ". Use files that belong together.");
      continue;
    }
    fail<DataError>("weights: a tensor does not belong to ", config.architecture, ": ",
                    formats::in_quotes(name), " in ", shards.file_name(name),
                    ". Use files that belong together.");
  }
}

}  // namespace

std::unique_ptr<nn::Decoder> load(const std::filesystem::path& folder, nn::Initializer& init,
                                  const nn::DecoderOptions& options) {
  const Config config = read_config(folder);
  const formats::Shards shards(folder);
  std::set<std::string> used;
  const nn::WeightSource source = [&](const std::string& name, const Shape& shape) {
    const std::string there = found_name(shards, config.decoder, name);
    used.insert(there);
    const Tensor weight = shards.mapped(there);
    check<DataError>(is_floating(weight.dtype()), "weights: a tensor is not of a floating type: \"",
                     there, "\" is ", weight.meta(), " in ", shards.file_name(there),
                     ". Quantised files are not read.");
    check<DataError>(weight.shape() == shape, "weights: a tensor has another shape: \"", there,
                     "\" is ", weight.shape(), " in ", shards.file_name(there),
                     ", and the config says ", shape, ". Use files that belong together.");
    return weight;
  };
  auto model = std::make_unique<nn::Decoder>(config.decoder, source, init, options);
  check_nothing_left(shards, config.decoder, used);
  return model;
}

std::unique_ptr<nn::Decoder> plan(const Config& config, nn::Initializer& init,
                                  const nn::DecoderOptions& options) {
  return std::make_unique<nn::Decoder>(config.decoder, nn::null_weights(config.dtype), init,
                                       options);
}

}  // namespace plimsoll::published
