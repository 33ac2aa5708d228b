// The tokenizer of a folder as llama.cpp's files have it.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "data/file.h"
#include "data/json.h"
#include "data/text/bpe_files.h"
#include "data/text/chat_templates.h"
#include "data/text/tokenizer_forms.h"
#include "nn/published/config.h"
#include "nn/published/gguf.h"

namespace plimsoll::published {
namespace {

namespace fs = std::filesystem;
using formats::GgufField;
using Json = nlohmann::json;

// As ggml numbers them.
enum Kind : int32_t {
  normal = 1,
  unknown = 2,
  control = 3,
  user_defined = 4,
  unused = 5,
  byte = 6
};

// How llama.cpp calls the way in which a text is cut.
const char* name_of(data::Cut cut) {
  switch (cut) {
    case data::Cut::digits:
      return "smollm";
    case data::Cut::llama3:
      return "llama-bpe";
    case data::Cut::qwen2:
      return "qwen2";
    default:
      return "gpt-2";
  }
}

std::string words_of(const Json& merge) {
  return merge.is_array() ? merge[0].get<std::string>() + " " + merge[1].get<std::string>()
                          : merge.get<std::string>();
}

struct Table {
  std::vector<std::string> tokens;
  std::vector<int32_t> kinds;

  void set(int64_t id, const std::string& token, int32_t kind) {
    tokens[static_cast<size_t>(id)] = token;
    kinds[static_cast<size_t>(id)] = kind;
  }
};

bool is_byte(const std::string& token) {
  return token.size() == 6 && token.starts_with("<0x") && token.ends_with(">");
}

Table table_of(const Json& file, bool characters, int64_t vocabulary) {
  const Json& model = file["model"];
  Table table{std::vector<std::string>(static_cast<size_t>(vocabulary)),
              std::vector<int32_t>(static_cast<size_t>(vocabulary), unused)};
  for (int64_t id = 0; id < vocabulary; ++id) table.set(id, cat("[PAD", id, "]"), unused);
  for (const auto& [token, id] : model["vocab"].items())
    table.set(id.get<int64_t>(), token, characters && is_byte(token) ? byte : normal);
  for (const Json& added : file.value("added_tokens", Json::array()))
    table.set(added["id"].get<int64_t>(), added["content"].get<std::string>(),
              added.value("special", false) ? control : user_defined);
  const Json name = model.value("unk_token", Json());
  if (characters && name.is_string())
    table.set(model["vocab"][name.get<std::string>()].get<int64_t>(), name.get<std::string>(),
              unknown);
  return table;
}

// SentencePiece merges the pair whose token has the highest score: those that are merged first.
std::vector<float> scores_of(const Json& file, const Table& table) {
  std::map<std::string, float> ranks;
  for (const Json& merge : file["model"]["merges"]) {
    std::string token = words_of(merge);
    token.erase(token.find(' '), 1);
    ranks.emplace(std::move(token), -static_cast<float>(ranks.size()) - 1);
  }
  std::vector<float> scores;
  for (const std::string& token : table.tokens) {
    const auto found = ranks.find(token);
    scores.push_back(found == ranks.end() ? 0 : found->second);
  }
  return scores;
}

Json json_of(const fs::path& file, const char* reader) {
  return data::parse_object(data::read_text(file), {.reader = reader, .name = file.string()});
}

}  // namespace

std::vector<GgufField> tokenizer_fields(const fs::path& from, int64_t vocabulary) {
  const fs::path path = from / "tokenizer.json";
  const data::BytePairEncoding bpe = data::load_tokenizer(path);  // refuses what is not known
  check<DataError>(bpe.size() <= vocabulary, "gguf: the tokenizer has ", bpe.size(),
                   " tokens, and the model knows ", vocabulary, ": ", path.string(),
                   ". Use files that belong together.");
  const Json file = json_of(path, "tokenizer");
  Json forms = file;
  const data::BpeAttrs attrs = data::take_forms(forms);
  Table table = table_of(file, attrs.characters, vocabulary);
  const Config config = read_config(from);
  std::vector<GgufField> fields;
  const auto add = [&](const char* key, auto value) {
    fields.push_back({std::string("tokenizer.ggml.") + key, std::move(value)});
  };
  // Configs may name what no token is.
  const auto id = [&](const char* key, int64_t value) {
    if (value >= 0 && value < vocabulary) add(key, static_cast<uint32_t>(value));
  };
  add("model", std::string(attrs.characters ? "llama" : "gpt2"));
  add("pre", std::string(attrs.characters ? "default" : name_of(attrs.cut)));
  if (attrs.characters) {
    add("scores", scores_of(file, table));
    add("add_space_prefix", attrs.normalization.front != data::Front::none);
  } else {
    std::vector<std::string> merges;
    for (const Json& merge : file["model"]["merges"]) merges.push_back(words_of(merge));
    if (!merges.empty()) add("merges", std::move(merges));
  }
  const Json begin = json_of(from / "config.json", "config").value("bos_token_id", Json());
  if (!bpe.front().empty())
    id("bos_token_id", bpe.front().front());
  else if (begin.is_number_integer())
    id("bos_token_id", begin.get<int64_t>());
  if (!config.ends.empty()) id("eos_token_id", config.ends.front());
  const auto unknowns = std::ranges::find(table.kinds, int32_t{unknown});
  if (unknowns != table.kinds.end()) id("unknown_token_id", unknowns - table.kinds.begin());
  add("tokens", std::move(table.tokens));
  add("token_type", std::move(table.kinds));
  add("add_bos_token", !bpe.front().empty());
  add("add_eos_token", !bpe.back().empty());
  const fs::path jinja = from / "chat_template.jinja", form = from / "tokenizer_config.json";
  std::error_code none;
  std::string chat = fs::exists(jinja, none) ? data::read_text(jinja) : "";
  if (chat.empty() && fs::exists(form, none))
    chat = data::template_text(data::read_text(form), form.string());
  if (!chat.empty()) fields.push_back({"tokenizer.chat_template", std::move(chat)});
  return fields;
}

}  // namespace plimsoll::published
