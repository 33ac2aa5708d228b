#include "data/text/bpe_files.h"

#include <utf8proc.h>

#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>

#include "data/file.h"
#include "data/json.h"
#include "data/text/tokenizer_forms.h"

namespace plimsoll::data {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::string_view kPublished = ". Use the file as it was published.";

Json parse(std::string_view text, const std::string& name) {
  return parse_object(text, {.reader = "tokenizer", .name = name});
}

// A value as a message has it.
std::string text_of(const Json& value) {
  if (value.is_object()) return "{...}";
  if (value.is_array()) return "[...]";
  return shown(value.dump());
}

// Code point -> byte, -1: none.
std::array<int16_t, 256 + 68> byte_alphabet() {
  std::array<int16_t, 256 + 68> bytes;
  bytes.fill(-1);
  size_t next = 256;
  for (int16_t byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte != 0xAD);
    bytes[printable ? static_cast<size_t>(byte) : next++] = byte;
  }
  return bytes;
}

// The bytes that a token's characters stand for; false when it has others, as names of added tokens
// may.
bool bytes_of(std::string_view characters, std::string& bytes) {
  static const auto alphabet = byte_alphabet();
  for (size_t i = 0; i < characters.size();) {
    utf8proc_int32_t c = 0;
    const utf8proc_ssize_t n =
        utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(characters.data() + i),
                         static_cast<utf8proc_ssize_t>(characters.size() - i), &c);
    if (n <= 0 || c >= std::ssize(alphabet) || alphabet[static_cast<size_t>(c)] < 0) return false;
    bytes.push_back(static_cast<char>(alphabet[static_cast<size_t>(c)]));
    i += static_cast<size_t>(n);
  }
  return true;
}

// (token, id) pairs as a table by id.
std::vector<std::string> table_of(std::vector<std::pair<std::string, int64_t>> entries,
                                  const std::string& name) {
  const int64_t most = 2 * std::ssize(entries);
  std::vector<std::string> tokens;
  for (auto& [token, id] : entries) {
    check<DataError>(id >= 0 && id < most, "tokenizer: an id is far from the others: ", name,
                     " gives ", id, " to one of ", entries.size(),
                     " tokens. Use ids that begin at 0.");
    if (id >= std::ssize(tokens)) tokens.resize(static_cast<size_t>(id) + 1);
    std::string& place = tokens[static_cast<size_t>(id)];
    check<DataError>(place.empty(), "tokenizer: two tokens have one id: ", name, " gives ", id,
                     " to \"", shown(place), "\" and \"", shown(token), "\"", kPublished);
    place = std::move(token);
  }
  return tokens;
}

using Ids = std::unordered_map<std::string_view, int32_t>;

Ids ids_of(const std::vector<std::string>& tokens, const std::string& name) {
  Ids ids;
  for (size_t id = 0; id < tokens.size(); ++id) {
    if (tokens[id].empty()) continue;
    const auto [place, is_new] = ids.emplace(tokens[id], static_cast<int32_t>(id));
    check<DataError>(is_new, "tokenizer: a token is there twice: ", name, " gives it the ids ",
                     place->second, " and ", id, kPublished);
  }
  return ids;
}

BytePairEncoding make(std::vector<std::string> tokens, std::span<const Merge> merges,
                      const std::string& name, BpeAttrs attrs = {}) {
  try {
    return {std::move(tokens), merges, std::move(attrs)};
  } catch (const DataError& e) {
    fail<DataError>("tokenizer: ", name, ": ", e.what());
  }
}

bool is_id(const Json& value) {
  return value.is_number_unsigned() && value.get<uint64_t>() <= INT32_MAX;
}

// The bytes of a token as a file has it: in characters that stand for them, or as they are.
bool bytes_of(std::string_view written, bool plain, std::string& bytes) {
  if (!plain) return bytes_of(written, bytes);
  bytes += written;
  return true;
}

// The table of {"token": id, ...}.
std::vector<std::string> table_of_tokens(const Json& vocabulary, const std::string& name,
                                         bool plain = false) {
  std::vector<std::pair<std::string, int64_t>> entries;
  for (const auto& [token, id] : vocabulary.items()) {
    check<DataError>(is_id(id),
                     "tokenizer: the id of a token is no whole number from 0 to 2^31 - 1: ", name,
                     " after token \"", shown(token), "\"", kPublished);
    check<DataError>(!token.empty(), "tokenizer: a token has no characters: ", name, " gives ",
                     id.get<int64_t>(), " to it", kPublished);
    std::string bytes;
    entries.emplace_back(bytes_of(token, plain, bytes) ? bytes : token, id.get<int64_t>());
  }
  return table_of(std::move(entries), name);
}

// A setting of a tokenizer.json and the values that it may have, as text_of() has them: two, one,
// or, where none is listed, any but objects and arrays.
struct Setting {
  std::string_view section, key;
  std::string_view values[2];
};

// clang-format off
constexpr Setting kSettings[] = {
    {"", "added_tokens", {"[...]"}},
    {"", "pre_tokenizer", {"{...}"}},
    {"", "post_processor", {"null", "{...}"}},
    {"", "decoder", {"null", "{...}"}},
    {"", "model", {"{...}"}},
    {"model", "vocab", {"{...}"}},
    {"model", "merges", {"[...]"}},
    {"", "version", {"\"1.0\""}},
    {"", "truncation", {"null"}},
    {"", "padding", {"null"}},
    {"", "normalizer", {"null"}},
    {"pre_tokenizer", "type", {"\"ByteLevel\""}},
    {"pre_tokenizer", "add_prefix_space", {"false"}},
    {"pre_tokenizer", "use_regex", {"true"}},
    {"pre_tokenizer", "trim_offsets", {}},  // where tokens lie in the text: nobody asks
    {"post_processor", "type", {"\"ByteLevel\""}},
    {"post_processor", "add_prefix_space", {}},
    {"post_processor", "trim_offsets", {}},
    {"post_processor", "use_regex", {}},
    {"decoder", "type", {"\"ByteLevel\""}},
    {"decoder", "add_prefix_space", {}},
    {"decoder", "trim_offsets", {}},
    {"decoder", "use_regex", {}},
    {"model", "type", {"\"BPE\""}},
    {"model", "dropout", {"null"}},
    {"model", "unk_token", {}},             // every byte is a token: nothing is unknown
    {"model", "fuse_unk", {}},
    {"model", "byte_fallback", {}},
    {"model", "continuing_subword_prefix", {"null", "\"\""}},
    {"model", "end_of_word_suffix", {"null", "\"\""}},
    {"model", "ignore_merges", {"true", "false"}},
    {"added_tokens", "id", {}},
    {"added_tokens", "content", {}},
    {"added_tokens", "special", {}},
    {"added_tokens", "single_word", {"false"}},
    {"added_tokens", "lstrip", {"false"}},
    {"added_tokens", "rstrip", {"false"}},
    {"added_tokens", "normalized", {"true", "false"}}};
constexpr std::pair<const char*, const char*> kRequired[] = {
    {"pre_tokenizer", "type"}, {"pre_tokenizer", "add_prefix_space"}, {"model", "vocab"},
    {"model", "merges"}};
// clang-format on

[[noreturn]] void refuse(const std::string& path, const Json& value, const std::string& name) {
  fail<DataError>("tokenizer: this is not done here: ", name, " asks for ", path, " ",
                  text_of(value), ". Use a BPE as GPT-2, Llama or Qwen has it.");
}

// What `section` has under its keys, "" being the whole file, must be settings that are done here.
void check_settings(const Json& object, std::string_view section, const std::string& name) {
  for (const auto& [key, value] : object.items()) {
    const std::string path = section.empty() ? key : cat(section, ".", key);
    const auto setting = std::ranges::find_if(
        kSettings, [&](const Setting& s) { return s.section == section && s.key == key; });
    check<DataError>(setting != std::end(kSettings),
                     "tokenizer: a key is not of the format: ", name, " has ", shown(path),
                     kPublished);
    const auto& values = setting->values;
    const bool any = values[0].empty() && !value.is_structured();
    if (!any && std::ranges::find(values, text_of(value)) == std::end(values))
      refuse(path, value, name);
    if (section.empty() && value.is_object()) check_settings(value, key, name);
  }
}

// A token that is found in a text before anything else is done to it; where `normalized`, after
// those that are not.
struct AddedToken {
  std::string content;
  int64_t id;
  bool normalized;
};

// Hugging Face's library does not look at the id of an added token: one whose text is a key of the
// vocabulary, as it is written there, gets the id of that, any other the next that is free. A file
// that says something else would give other ids than there.
std::vector<AddedToken> added_tokens(const Json& list, const Json& vocabulary,
                                     const std::string& name) {
  std::vector<AddedToken> added;
  std::set<std::string> seen;
  int64_t next = std::ssize(vocabulary);
  for (const Json& token : list) {
    if (!token.is_object()) refuse("added_tokens", token, name);
    check_settings(token, "added_tokens", name);
    const Json id = token.value("id", Json()), content = token.value("content", Json());
    check<DataError>(is_id(id) && content.is_string() && content != "",
                     "tokenizer: an added token needs an id from 0 to 2^31 - 1 and a text: ", name,
                     ": number ", added.size() + 1, " has not got both", kPublished);
    added.push_back({content, id, token.value("normalized", false)});
    check<DataError>(seen.insert(content).second,
                     "tokenizer: an added token is there twice: ", name, " has \"",
                     shown(added.back().content), "\"", kPublished);
    const auto known = vocabulary.find(added.back().content);
    const int64_t theirs = known == vocabulary.end() ? next : known->get<int64_t>();
    check<DataError>(id == theirs, "tokenizer: an added token has not the id that Hugging Face's ",
                     "library gives it: ", name, " has ", id.get<int64_t>(), " for \"",
                     shown(added.back().content), "\", there it is ", theirs,
                     ". Save the file with that library.");
    next = std::max(next, theirs + 1);
  }
  return added;
}

// The merge that two words stand for; DataError unless exactly one blank is between them and all
// are tokens.
Merge merge_of(std::string_view words, const Ids& ids, const std::string& name, size_t number,
               bool plain = false) {
  const size_t blank = words.find(' ');
  check<DataError>(blank != words.npos && blank > 0 && blank + 1 < words.size() &&
                       words.find(' ', blank + 1) == words.npos,
                   "tokenizer: this is not two words: ", name, " line ", number, ": \"",
                   shown(words), "\"", kPublished);
  std::string bytes, second;
  const bool readable = bytes_of(words.substr(0, blank), plain, bytes) &&
                        bytes_of(words.substr(blank + 1), plain, second);
  const auto left = ids.find(bytes), right = ids.find(second);
  bytes += second;
  const auto merged = ids.find(bytes);
  check<DataError>(readable && left != ids.end() && right != ids.end() && merged != ids.end(),
                   "tokenizer: a merge is not of tokens in the vocabulary: ", name, " line ",
                   number, ": \"", shown(words), "\". Use files that belong together.");
  return {left->second, right->second, merged->second};
}

// Merges are "h e" or ["h", "e"].
std::vector<Merge> merges_of(const Json& list, const std::vector<std::string>& tokens,
                             const std::string& name, bool plain) {
  const Ids ids = ids_of(tokens, name);
  std::vector<Merge> merges;
  for (const Json& merge : list) {
    const bool pair =
        merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string();
    check<DataError>(pair || merge.is_string(), "tokenizer: a merge is not two words: ", name,
                     " has ", text_of(merge), " in model.merges", kPublished);
    const std::string words = pair ? merge[0].get<std::string>() + ' ' + merge[1].get<std::string>()
                                   : merge.get<std::string>();
    merges.push_back(merge_of(words, ids, name + ", merges,", merges.size() + 1, plain));
  }
  return merges;
}

// Puts those that are not keys of the vocabulary into the table, their texts as they are. Another
// token may have the same text, as "Ġ" and an added " ".
void add_tokens(std::vector<std::string>& tokens, const std::vector<AddedToken>& added,
                const Json& vocabulary, const std::string& name) {
  for (const AddedToken& token : added) {
    if (vocabulary.contains(token.content)) continue;
    const auto id = static_cast<size_t>(token.id);
    if (id >= tokens.size()) tokens.resize(id + 1);
    check<DataError>(tokens[id].empty(), "tokenizer: two tokens have one id: ", name, " gives ", id,
                     " to \"", shown(tokens[id]), "\" and \"", shown(token.content), "\"",
                     kPublished);
    tokens[id] = token.content;
  }
}

// What becomes of a character that is no token.
void take_unknown(const Json& model, const Json& vocabulary, const std::string& name,
                  BpeAttrs& attrs) {
  const auto truth = [&](const char* key) {
    const Json value = model.value(key, Json(false));
    if (!value.is_boolean()) refuse(cat("model.", key), value, name);
    return value.get<bool>();
  };
  attrs.byte_tokens = truth("byte_fallback");
  attrs.fuse_unknown = truth("fuse_unk");
  const Json unknown = model.value("unk_token", Json());
  if (!unknown.is_string()) return;
  const auto found = vocabulary.find(unknown.get<std::string>());
  check<DataError>(found != vocabulary.end(),
                   "tokenizer: the unknown token is not in the "
                   "vocabulary: ",
                   name, " has \"", shown(unknown.get<std::string>()), "\"", kPublished);
  attrs.unknown = found->get<int32_t>();
}

}  // namespace

std::vector<std::string> parse_vocabulary(std::string_view json, const std::string& name) {
  return table_of_tokens(parse(json, name), name);
}

std::vector<Merge> parse_merges(std::string_view text, const std::string& name,
                                const std::vector<std::string>& tokens) {
  const Ids ids = ids_of(tokens, name);
  std::vector<Merge> merges;
  size_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    if (line.ends_with('\r')) line.remove_suffix(1);
    begin = end + 1;
    if (++number == 1 && line.starts_with("#version")) continue;
    if (!line.empty()) merges.push_back(merge_of(line, ids, name, number));
  }
  return merges;
}

BytePairEncoding parse_tokenizer(std::string_view json, const std::string& name) {
  Json file = parse(json, name);
  BpeAttrs attrs = take_forms(file);
  if (attrs.characters || attrs.cut != Cut::gpt2) file.erase("pre_tokenizer");
  check_settings(file, "", name);
  for (const auto& [section, key] : kRequired)
    check<DataError>((std::string_view(section) == "pre_tokenizer" && attrs.cut != Cut::gpt2) ||
                         (file.contains(section) && file[section].contains(key)),
                     "tokenizer: something is missing: ", name, " has no ", section, ".", key,
                     kPublished);
  const Json& model = file["model"];
  const Json& vocabulary = model["vocab"];
  std::vector<std::string> tokens = table_of_tokens(vocabulary, name, attrs.characters);
  const std::vector<Merge> merges = merges_of(model["merges"], tokens, name, attrs.characters);
  attrs.whole_pieces = model.value("ignore_merges", false);
  attrs.found_first = {{}, {}};
  if (attrs.characters) take_unknown(model, vocabulary, name, attrs);
  const std::vector<AddedToken> added =
      added_tokens(file.value("added_tokens", Json::array()), vocabulary, name);
  add_tokens(tokens, added, vocabulary, name);
  for (const AddedToken& token : added) {
    // Theirs looks for what such a text would be behind a mark.
    if (token.normalized && attrs.normalization.front == Front::always)
      refuse("added_tokens.normalized", true, name);
    const TextNormalization form{.nfc = token.normalized && attrs.normalization.nfc};
    attrs.found_first[token.normalized].push_back(
        {normalized(token.content, form, false), static_cast<int32_t>(token.id)});
  }
  return make(std::move(tokens), merges, name, std::move(attrs));
}

BytePairEncoding load_tokenizer(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return parse_tokenizer(read_text(path), path.string());
  // It alone says how text is cut, and what is done to it before.
  if (fs::exists(path / "tokenizer.json", error)) return load_tokenizer(path / "tokenizer.json");
  const fs::path vocabulary = path / "vocab.json", merges = path / "merges.txt";
  std::vector<std::string> tokens = parse_vocabulary(read_text(vocabulary), vocabulary.string());
  const std::vector<Merge> pairs = parse_merges(read_text(merges), merges.string(), tokens);
  return make(std::move(tokens), pairs, path.string());
}

}  // namespace plimsoll::data
