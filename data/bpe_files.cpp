#include "data/bpe_files.h"

#include <utf8proc.h>

#include <charconv>
#include <set>
#include <unordered_map>

#include "data/file.h"
#include "data/json_vocabulary.h"
#include "data/tokenizer_json.h"

namespace plimsoll::data {
namespace {

namespace fs = std::filesystem;

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
                     " to \"", shown(place), "\" and \"", shown(token),
                     "\". Use the file as it was published.");
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
                     place->second, " and ", id, ". Use the file as it was published.");
  }
  return ids;
}

// Calls use(line, its number from 1) for each line that is not empty.
template <class Use>
void for_lines(std::string_view text, const Use& use) {
  int64_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    if (line.ends_with('\r')) line.remove_suffix(1);
    ++number;
    if (!line.empty()) use(line, number);
    begin = end + 1;
  }
}

// The two words of a line; DataError unless there is exactly one blank, inside.
std::pair<std::string_view, std::string_view> two_words(std::string_view line,
                                                        const std::string& name, int64_t number) {
  const size_t blank = line.find(' ');
  check<DataError>(blank != std::string_view::npos && blank > 0 && blank + 1 < line.size() &&
                       line.find(' ', blank + 1) == std::string_view::npos,
                   "tokenizer: this is not two words: ", name, " line ", number, ": \"",
                   shown(line), "\". Use the file as it was published.");
  return {line.substr(0, blank), line.substr(blank + 1)};
}

bool decode_base64(std::string_view text, std::string& bytes) {
  if (text.empty() || text.size() % 4 != 0) return false;
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  uint32_t bits = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool pad = i >= text.size() - padding;
    const int value = pad                    ? 0
                      : c >= 'A' && c <= 'Z' ? c - 'A'
                      : c >= 'a' && c <= 'z' ? c - 'a' + 26
                      : c >= '0' && c <= '9' ? c - '0' + 52
                      : c == '+'             ? 62
                      : c == '/'             ? 63
                                             : -1;
    if (value < 0) return false;
    bits = bits << 6 | static_cast<uint32_t>(value);
    if (i % 4 == 3)
      for (const int shift : {16, 8, 0}) bytes.push_back(static_cast<char>(bits >> shift));
  }
  bytes.resize(bytes.size() - padding);
  return true;
}

BytePairEncoding make(std::vector<std::string> tokens, std::span<const Merge> merges,
                      const std::string& name, BpeAttrs attrs = {}) {
  try {
    return {std::move(tokens), merges, std::move(attrs)};
  } catch (const DataError& e) {
    fail<DataError>("tokenizer: ", name, ": ", e.what());
  }
}

// The table of a vocabulary whose tokens are written in characters.
std::vector<std::string> table_of_characters(std::vector<std::pair<std::string, int64_t>> entries,
                                             const std::string& name) {
  for (auto& [token, id] : entries) {
    check<DataError>(!token.empty(), "tokenizer: a token has no characters: ", name, " gives ", id,
                     " to it. Use the file as it was published.");
    std::string bytes;
    if (bytes_of(token, bytes)) token = std::move(bytes);
  }
  return table_of(std::move(entries), name);
}

// Those that the vocabulary has not got. Hugging Face's library does not look at the id of an added
// token: one whose text is a key of the vocabulary, as it is written there, gets the id of that,
// any other the next that is free. A file that says something else would give other ids than there.
std::vector<AddedToken> new_tokens(const TokenizerJson& file, const std::string& name) {
  const std::unordered_map<std::string_view, int64_t> ids(file.vocabulary.begin(),
                                                          file.vocabulary.end());
  std::set<std::string_view> seen;
  std::vector<AddedToken> fresh;
  int64_t next = std::ssize(file.vocabulary);
  for (const AddedToken& token : file.added) {
    check<DataError>(seen.insert(token.content).second,
                     "tokenizer: an added token is there twice: ", name, " has \"",
                     shown(token.content), "\". Use the file as it was published.");
    const auto known = ids.find(token.content);
    const int64_t id = known == ids.end() ? next : known->second;
    check<DataError>(token.id == id,
                     "tokenizer: an added token has not the id that Hugging Face's ",
                     "library gives it: ", name, " has ", token.id, " for \"", shown(token.content),
                     "\", there it is ", id, ". Save the file with that library.");
    next = std::max(next, id + 1);
    if (known == ids.end()) fresh.push_back(token);
  }
  return fresh;
}

// Puts `added`, whose texts are as they are, into the table. Another token may have the same text,
// as "Ġ" and an added " ".
void add_tokens(std::vector<std::string>& tokens, const std::vector<AddedToken>& added,
                const std::string& name) {
  std::vector<std::pair<std::string, int64_t>> entries;
  for (const AddedToken& token : added) entries.emplace_back(token.content, token.id);
  for (size_t id = 0; id < tokens.size(); ++id)
    if (!tokens[id].empty()) entries.emplace_back(std::move(tokens[id]), static_cast<int64_t>(id));
  tokens = table_of(std::move(entries), name);
}

}  // namespace

std::vector<std::string> parse_vocabulary(const std::string& json, const std::string& name) {
  return table_of_characters(parse_json_vocabulary(json, name), name);
}

std::vector<Merge> parse_merges(std::string_view text, const std::string& name,
                                const std::vector<std::string>& tokens) {
  const Ids ids = ids_of(tokens, name);
  std::vector<Merge> merges;
  for_lines(text, [&](std::string_view line, int64_t number) {
    if (number == 1 && line.starts_with("#version")) return;
    const auto [left, right] = two_words(line, name, number);
    std::string bytes, second;
    const bool readable = bytes_of(left, bytes) && bytes_of(right, second);
    const auto a = ids.find(bytes), b = ids.find(second);
    bytes += second;
    const auto both = ids.find(bytes);
    check<DataError>(readable && a != ids.end() && b != ids.end() && both != ids.end(),
                     "tokenizer: a merge is not of tokens in the vocabulary: ", name, " line ",
                     number, ": \"", shown(line), "\". Use files that belong together.");
    merges.push_back({a->second, b->second, both->second});
  });
  return merges;
}

// GPT-2's longest has 128. Each place where one can be cut in two is looked at.
constexpr int64_t kLongestToken = 4096;

BytePairEncoding parse_ranks(std::string_view text, const std::string& name) {
  std::vector<std::pair<std::string, int64_t>> entries;
  for_lines(text, [&](std::string_view line, int64_t number) {
    const auto [word, digits] = two_words(line, name, number);
    std::string token;
    int64_t rank = -1;
    const char* const end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, rank);
    check<DataError>(decode_base64(word, token) && error == std::errc{} && stop == end,
                     "tokenizer: this is not a token in base64 and its rank: ", name, " line ",
                     number, ": \"", shown(line), "\". Use the file as it was published.");
    check<DataError>(std::ssize(token) <= kLongestToken, "tokenizer: a token is too long: ", name,
                     " line ", number, " has one of ", token.size(), " bytes. At most ",
                     kLongestToken, " are read.");
    entries.emplace_back(std::move(token), rank);
  });
  std::vector<std::string> tokens = table_of(std::move(entries), name);
  const Ids ids = ids_of(tokens, name);
  std::vector<Merge> merges;
  for (size_t id = 0; id < tokens.size(); ++id)
    for (size_t cut = 1; cut < tokens[id].size(); ++cut) {
      const std::string_view token = tokens[id];
      const auto left = ids.find(token.substr(0, cut)), right = ids.find(token.substr(cut));
      if (left != ids.end() && right != ids.end())
        merges.push_back({left->second, right->second, static_cast<int32_t>(id)});
    }
  return make(std::move(tokens), merges, name, {.whole_pieces = true});
}

BytePairEncoding parse_tokenizer(std::string_view json, const std::string& name) {
  TokenizerJson file = read_tokenizer_json(json, name);
  const std::vector<AddedToken> fresh = new_tokens(file, name);
  std::vector<std::string> tokens = table_of_characters(std::move(file.vocabulary), name);
  const std::vector<Merge> merges = parse_merges(file.merges, name + ", merges,", tokens);
  add_tokens(tokens, fresh, name);
  BpeAttrs attrs{.whole_pieces = file.ignore_merges, .found_first = {{}, {}}};
  for (AddedToken& token : file.added)
    attrs.found_first[token.normalized].push_back(
        {std::move(token.content), static_cast<int32_t>(token.id)});
  return make(std::move(tokens), merges, name, std::move(attrs));
}

BytePairEncoding load_tokenizer(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    const std::string text = read_text(path);
    const size_t first = text.find_first_not_of(" \t\r\n");
    const bool json = first != text.npos && text[first] == '{';
    return json ? parse_tokenizer(text, path.string()) : parse_ranks(text, path.string());
  }
  // It alone says how text is cut, and what is done to it before.
  if (fs::exists(path / "tokenizer.json", error)) return load_tokenizer(path / "tokenizer.json");
  const bool own_names = fs::exists(path / "encoder.json", error);
  const fs::path vocabulary = path / (own_names ? "encoder.json" : "vocab.json");
  const fs::path merges = path / (own_names ? "vocab.bpe" : "merges.txt");
  std::vector<std::string> tokens = parse_vocabulary(read_text(vocabulary), vocabulary.string());
  const std::vector<Merge> pairs = parse_merges(read_text(merges), merges.string(), tokens);
  return make(std::move(tokens), pairs, path.string());
}

}  // namespace plimsoll::data
