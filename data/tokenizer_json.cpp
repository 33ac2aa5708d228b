#include "data/tokenizer_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.h"
#include "data/file.h"

namespace plimsoll::data {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kTokens = "added_tokens", kVocabulary = "model.vocab",
                           kMerges = "model.merges";

// Keys that hold objects of settings, and those that hold much.
constexpr std::string_view kSections[] = {"pre_tokenizer", "post_processor", "decoder", "model"};
constexpr std::string_view kContents[] = {kTokens, kVocabulary, kMerges};

// A setting and the values that it may have, as JSON: two, one, or, where none is listed, any but
// objects and arrays.
struct Setting {
  std::string_view path;
  std::string_view values[2];
};

// clang-format off
constexpr Setting kSettings[] = {
    {"version", {"\"1.0\""}},
    {"truncation", {"null"}},
    {"padding", {"null"}},
    {"normalizer", {"null"}},
    {"post_processor", {"null"}},
    {"decoder", {"null"}},
    {"pre_tokenizer.type", {"\"ByteLevel\""}},
    {"pre_tokenizer.add_prefix_space", {"false"}},
    {"pre_tokenizer.use_regex", {"true"}},
    {"pre_tokenizer.trim_offsets", {}},   // where tokens lie in the text: nobody asks
    {"post_processor.type", {"\"ByteLevel\""}},
    {"post_processor.add_prefix_space", {}},
    {"post_processor.trim_offsets", {}},
    {"post_processor.use_regex", {}},
    {"decoder.type", {"\"ByteLevel\""}},
    {"decoder.add_prefix_space", {}},
    {"decoder.trim_offsets", {}},
    {"decoder.use_regex", {}},
    {"model.type", {"\"BPE\""}},
    {"model.dropout", {"null"}},
    {"model.unk_token", {}},              // every byte is a token: nothing is unknown
    {"model.fuse_unk", {}},
    {"model.byte_fallback", {}},
    {"model.continuing_subword_prefix", {"null", "\"\""}},
    {"model.end_of_word_suffix", {"null", "\"\""}},
    {"model.ignore_merges", {"true", "false"}},
    {"added_tokens.id", {}},
    {"added_tokens.content", {}},
    {"added_tokens.special", {}},
    {"added_tokens.single_word", {"false"}},
    {"added_tokens.lstrip", {"false"}},
    {"added_tokens.rstrip", {"false"}},
    {"added_tokens.normalized", {"true", "false"}}};
constexpr std::string_view kRequired[] = {
    "pre_tokenizer.type", "pre_tokenizer.add_prefix_space", kVocabulary, kMerges};
// clang-format on

std::string in_quotes(std::string_view text) { return cat("\"", text, "\""); }

// Hears of every piece of the JSON in turn: whatever does not belong where it comes is refused, so
// nesting cannot go deeper than the format's.
class Reader {
 public:
  explicit Reader(const std::string& name) : name_(name) {}

  TokenizerJson take() {
    for (const std::string_view path : kRequired)
      check<DataError>(seen_.contains(path), "tokenizer: something is missing: ", name_, " has no ",
                       path, kPublished);
    return std::move(file_);
  }

  bool start_object(size_t) {
    if (place_ == Place::start) return go(Place::top);
    if (place_ == Place::tokens) {
      file_.added.emplace_back();
      std::erase_if(seen_,
                    [](const std::string& path) { return path.starts_with("added_tokens."); });
      return go(Place::token);
    }
    if (place_ == Place::section && path_ == kVocabulary) return go(Place::vocabulary);
    if (place_ != Place::top || std::ranges::find(kSections, path_) == std::end(kSections))
      refuse_value("{...}");
    section_ = path_ + '.';
    return go(Place::section);
  }
  bool end_object() {
    if (place_ == Place::vocabulary) return go(Place::section);
    if (place_ == Place::top) return go(Place::end);
    if (place_ == Place::section) return leave();
    const AddedToken& token = file_.added.back();
    check<DataError>(token.id >= 0 && !token.content.empty(),
                     "tokenizer: an added token needs an id from 0 to 2^31 - 1 and a text: ", name_,
                     ": number ", file_.added.size(), " has not got both", kPublished);
    return go(Place::tokens);
  }
  bool start_array(size_t) {
    if (place_ == Place::top && path_ == kTokens) {
      section_ = "added_tokens.";
      return go(Place::tokens);
    }
    if (place_ == Place::section && path_ == kMerges) return go(Place::merges);
    if (place_ != Place::merges) refuse_value("[...]");
    words_.clear();
    count_ = 0;
    return go(Place::pair);
  }
  bool end_array() {
    if (place_ == Place::merges) return go(Place::section);
    if (place_ == Place::tokens) return leave();
    if (count_ != 2) refuse_merge(in_quotes(words_));
    add_merge(words_);
    return go(Place::merges);
  }
  bool key(std::string& key) {
    if (place_ == Place::vocabulary) {
      token_ = std::move(key);
      return true;
    }
    path_ = section_ + key;
    const bool known = setting() || std::ranges::find(kSections, path_) != std::end(kSections) ||
                       std::ranges::find(kContents, path_) != std::end(kContents);
    const bool dotted = key.find('.') != key.npos;  // "model.type" is not "type" of "model"
    check<DataError>(known && !dotted, "tokenizer: a key is not of the format: ", name_, " has ",
                     shown(path_), kPublished);
    check<DataError>(seen_.insert(path_).second, "tokenizer: a key is there twice: ", name_,
                     " has ", path_, kPublished);
    return true;
  }

  bool string(std::string& text) {
    if (place_ == Place::merges) return add_merge(text);
    if (place_ == Place::pair) {
      words_ += (count_++ > 0 ? " " : "") + text;
      return true;
    }
    if (place_ == Place::token && path_ == "added_tokens.content")
      file_.added.back().content = text;
    return value(in_quotes(text));
  }
  bool number_unsigned(uint64_t number) {
    const bool is_id = number <= INT32_MAX;
    if (place_ == Place::vocabulary && is_id) {
      file_.vocabulary.emplace_back(std::move(token_), static_cast<int64_t>(number));
      return true;
    }
    if (place_ == Place::token && path_ == "added_tokens.id" && is_id)
      file_.added.back().id = static_cast<int64_t>(number);
    return value(cat(number));
  }
  bool boolean(bool is) {
    if (place_ == Place::token && path_ == "added_tokens.normalized")
      file_.added.back().normalized = is;
    if (place_ == Place::section && path_ == "model.ignore_merges") file_.ignore_merges = is;
    return value(is ? "true" : "false");
  }
  bool number_integer(int64_t number) { return value(cat(number)); }
  bool number_float(double, const std::string& text) { return value(text); }
  bool null() { return value("null"); }
  bool binary(Json::binary_t&) { return value("binary data"); }
  bool parse_error(size_t position, const std::string&, const Json::exception&) {
    fail<DataError>("tokenizer: the JSON cannot be read: ", name_, " at byte ", position,
                    kPublished);
  }

 private:
  enum class Place {
    start,       // before the object that is the file
    top,         // in it
    section,     // in an object of settings
    vocabulary,  // in that of the model
    merges,      // in the list of the model
    pair,        // in one of its lists of two words
    tokens,      // in the list of added ones
    token,       // in one of them
    end
  };
  static constexpr const char* kPublished = ". Use the file as it was published.";

  bool go(Place place) {
    place_ = place;
    return true;
  }
  bool leave() {
    section_.clear();
    return go(Place::top);
  }
  const Setting* setting() const {
    const auto found = std::ranges::find(kSettings, path_, &Setting::path);
    return found == std::end(kSettings) ? nullptr : found;
  }
  // What the key before it has: no object and no array, which would have to be left again.
  bool value(std::string_view json) {
    const Setting* const known = setting();
    const auto may_be = [&](std::string_view one) { return !one.empty() && json == one; };
    const bool is_setting =
        place_ == Place::top || place_ == Place::section || place_ == Place::token;
    if (!is_setting || !known ||
        (!known->values[0].empty() && std::ranges::none_of(known->values, may_be)))
      refuse_value(json);
    return true;
  }
  [[noreturn]] void refuse_value(std::string_view json) const {
    check<DataError>(place_ != Place::start, "tokenizer: this is no JSON object: ", name_,
                     ". Use a tokenizer.json.");
    check<DataError>(place_ != Place::vocabulary,
                     "tokenizer: the id of a token is no whole number from 0 to 2^31 - 1: ", name_,
                     " after token ", in_quotes(shown(token_)), kPublished);
    if (place_ == Place::merges || place_ == Place::pair) refuse_merge(json);
    fail<DataError>("tokenizer: this is not done here: ", name_, " asks for ", path_, " ",
                    shown(json), ". Use a byte-level BPE as GPT-2 has it.");
  }

  [[noreturn]] void refuse_merge(std::string_view what) const {
    fail<DataError>("tokenizer: a merge is not two words: ", name_, " has ", shown(what), " in ",
                    kMerges, kPublished);
  }
  bool add_merge(const std::string& words) {
    const size_t blank = words.find(' ');
    if (blank == 0 || blank == words.npos || blank + 1 == words.size() ||
        words.find_first_of(" \r\n", blank + 1) != words.npos ||
        words.find_first_of("\r\n") != words.npos)
      refuse_merge(in_quotes(words));
    file_.merges += words;
    file_.merges += '\n';
    return true;
  }

  const std::string& name_;
  TokenizerJson file_;
  Place place_ = Place::start;
  std::string section_, path_;  // "model.", "model.type"
  std::string token_;           // of the vocabulary
  std::string words_;           // of a merge, and how many
  int64_t count_ = 0;
  std::set<std::string, std::less<>> seen_;
};

}  // namespace

TokenizerJson read_tokenizer_json(std::string_view text, const std::string& name) {
  // The JSON library would take a NUL for the end of the text and skip a byte order mark.
  const size_t first = text.find_first_not_of(" \t\r\n");
  check<DataError>(first != text.npos && text[first] == '{' && text.find('\0') == text.npos,
                   "tokenizer: this is no JSON object: ", name, ". Use a tokenizer.json.");
  Reader reader(name);
  Json::sax_parse(text.begin(), text.end(), &reader);
  return reader.take();
}

}  // namespace plimsoll::data
