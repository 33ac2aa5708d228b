#include "data/text/bpe.h"

#include <algorithm>
#include <cstdio>
#include <deque>

namespace plimsoll::data {
namespace {

uint64_t pair_of(int32_t left, int32_t right) {
  return static_cast<uint64_t>(left) << 32 | static_cast<uint32_t>(right);
}

// Ids of pieces that came before are copied: pieces up to this length, as many as that.
constexpr size_t kRememberedBytes = 64, kRememberedPieces = size_t{1} << 18;

}  // namespace

BytePairEncoding::BytePairEncoding(std::vector<std::string> tokens, std::span<const Merge> merges,
                                   BpeAttrs attrs)
    : tokens_(std::move(tokens)), attrs_(std::move(attrs)) {
  for (size_t id = 0; id < tokens_.size(); ++id)
    if (!tokens_[id].empty()) ids_.try_emplace(tokens_[id], static_cast<int32_t>(id));
  find_bytes();
  add_merges(merges);
  find_added();
  normalized_at_ = std::min(found_first_.size(), attrs_.normalized_last ? SIZE_MAX : size_t{1});
}

void BytePairEncoding::find_bytes() {
  check<DataError>(!attrs_.characters || attrs_.byte_tokens || attrs_.unknown,
                   "bpe: there is nothing for a character that is no token. Use a vocabulary with "
                   "bytes or an unknown token.");
  if (attrs_.characters && !attrs_.byte_tokens) return;
  for (size_t byte = 0; byte < 256; ++byte) {
    char text[8];
    std::snprintf(text, sizeof text, "<0x%02X>", static_cast<unsigned>(byte));
    const char one = static_cast<char>(byte);
    const std::optional<int32_t> id =
        find(attrs_.characters ? std::string_view(text) : std::string_view(&one, 1));
    check<DataError>(id.has_value(), "bpe: there is no token for byte ", byte,
                     ". Use a byte-level vocabulary, which has one for each.");
    bytes_[byte] = *id;
    if (attrs_.characters) byte_of_.emplace(*id, one);
  }
}

void BytePairEncoding::find_added() {
  for (const std::vector<FoundToken>& list : attrs_.found_first) {
    Found& found = found_first_.emplace_back();
    for (const auto& [text, id] : list) {
      check<DataError>(id >= 0 && id < size() && !tokens_[static_cast<size_t>(id)].empty(),
                       "bpe: a token to be found is not there: ", id, " of ", size(),
                       ". Use files that belong together.");
      check<DataError>(!text.empty(), "bpe: a token to be found has no text: ", id,
                       ". Use the file as it was published.");
      if (found.first_bytes.find(text[0]) == std::string::npos) found.first_bytes += text[0];
    }
    found.tokens = list;
    std::ranges::stable_sort(found.tokens, std::greater(),
                             [](const FoundToken& token) { return token.text.size(); });
  }
}

std::optional<int32_t> BytePairEncoding::find(std::string_view token) const {
  const auto found = ids_.find(std::string(token));
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

void BytePairEncoding::add_merges(std::span<const Merge> merges) {
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const auto [left, right, merged] = merges[rank];
    for (const int32_t id : {left, right, merged})
      check<DataError>(id >= 0 && id < size(), "bpe: merge ", rank, " names a token that is not ",
                       "there: ", id, " of ", size(), ". Use files that belong together.");
    const RankedMerge merge{static_cast<int32_t>(rank), merged};
    check<DataError>(merges_.emplace(pair_of(left, right), merge).second, "bpe: merge ", rank,
                     " is there twice: ", left, " and ", right,
                     ". Use a file without repetitions.");
  }
}

// The ids so far; a piece under way as a list of tokens, each at the place of its first byte, and a
// heap of merges that were possible when they were found; and where the ids of pieces that came
// before are: the first place and their number.
struct BytePairEncoding::Encoding {
  struct Node {
    int32_t id;  // -1: merged into the one before
    int32_t before, after;
  };
  struct Candidate {
    int32_t rank, place, left, right;
    // std::push_heap puts the largest first: the lowest rank, then the leftmost.
    bool operator<(const Candidate& other) const {
      return rank != other.rank ? rank > other.rank : place > other.place;
    }
  };
  std::string_view text;               // all of it
  std::deque<std::string> normalized;  // parts of it, which `known` looks into
  std::vector<int32_t> ids;
  std::vector<Node> nodes;
  std::vector<Candidate> heap;
  std::unordered_map<std::string_view, std::pair<size_t, size_t>> known;
};

void BytePairEncoding::begin_as_bytes(std::string_view piece, Encoding& to) const {
  const auto n = static_cast<int32_t>(piece.size());
  to.nodes.clear();
  for (int32_t i = 0; i < n; ++i)
    to.nodes.push_back({bytes_[static_cast<uint8_t>(piece[static_cast<size_t>(i)])], i - 1, i + 1});
}

// A node for each byte, of which those count that a character, or a byte of one, begins at.
void BytePairEncoding::begin_as_characters(std::string_view piece, Encoding& to) const {
  auto& nodes = to.nodes;
  const auto n = static_cast<int32_t>(piece.size());
  nodes.assign(piece.size(), {-1, -1, n});
  int32_t before = -1;
  const auto put = [&](size_t at, int32_t id) {
    const auto place = static_cast<int32_t>(at);
    if (before >= 0) nodes[static_cast<size_t>(before)].after = place;
    nodes[at] = {id, before, n};
    before = place;
  };
  bool unknown = false;  // the one before
  for (size_t at = 0, bytes; at < piece.size(); at += bytes) {
    bytes = character_at(piece, at).bytes;
    const std::optional<int32_t> id = find(piece.substr(at, bytes));
    const bool was_unknown = unknown;
    unknown = !id && !attrs_.byte_tokens;
    if (id)
      put(at, *id);
    else if (attrs_.byte_tokens)
      for (size_t i = at; i < at + bytes; ++i) put(i, bytes_[static_cast<uint8_t>(piece[i])]);
    else if (!was_unknown || !attrs_.fuse_unknown)
      put(at, *attrs_.unknown);
  }
}

void BytePairEncoding::encode_piece(std::string_view piece, Encoding& to) const {
  if (attrs_.whole_pieces)
    if (const std::optional<int32_t> id = find(piece)) return to.ids.push_back(*id);
  auto& nodes = to.nodes;
  auto& heap = to.heap;
  const auto n = static_cast<int32_t>(piece.size());
  attrs_.characters ? begin_as_characters(piece, to) : begin_as_bytes(piece, to);
  const auto consider = [&](int32_t place) {
    if (place < 0 || nodes[place].after == n) return;
    const int32_t left = nodes[place].id, right = nodes[nodes[place].after].id;
    const auto merge = merges_.find(pair_of(left, right));
    if (merge == merges_.end()) return;
    heap.push_back({merge->second.rank, place, left, right});
    std::push_heap(heap.begin(), heap.end());
  };
  for (int32_t i = 0; i < n; i = nodes[i].after) consider(i);
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end());
    const auto [rank, place, left, right] = heap.back();
    heap.pop_back();
    Encoding::Node& node = nodes[place];
    // One of the two may have become part of another token since.
    if (node.id != left || node.after == n || nodes[node.after].id != right) continue;
    Encoding::Node& gone = nodes[node.after];
    node.id = merges_.at(pair_of(left, right)).merged;
    gone.id = -1;
    node.after = gone.after;
    if (node.after < n) nodes[node.after].before = place;
    consider(node.before);
    consider(place);
  }
  for (int32_t i = 0; i < n; i = nodes[i].after) to.ids.push_back(nodes[i].id);
}

void BytePairEncoding::encode_pieces(std::string_view text, Encoding& to) const {
  std::vector<int32_t>& ids = to.ids;
  auto& known = to.known;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = piece_end(text, begin, attrs_.cut);
    const std::string_view piece = text.substr(begin, end - begin);
    begin = end;
    const bool remember = piece.size() <= kRememberedBytes;
    if (const auto found = remember ? known.find(piece) : known.end(); found != known.end()) {
      const auto [first, count] = found->second;
      for (size_t i = 0; i < count; ++i) ids.push_back(ids[first + i]);
      continue;
    }
    const size_t first = ids.size();
    encode_piece(piece, to);
    if (remember && known.size() < kRememberedPieces)
      known.emplace(piece, std::pair(first, ids.size() - first));
  }
}

void BytePairEncoding::encode_part(std::string_view text, size_t list, Encoding& to) const {
  if (text.empty()) return;
  if (list == normalized_at_ && attrs_.normalization.any()) {
    const bool is_first = text.data() == to.text.data();
    text = to.normalized.emplace_back(normalized(text, attrs_.normalization, is_first));
  }
  if (list == found_first_.size()) return encode_pieces(text, to);
  const auto& [tokens, first_bytes] = found_first_[list];
  size_t begin = 0;  // of what is left
  for (size_t at = 0; (at = text.find_first_of(first_bytes, at)) != text.npos;) {
    const auto found = std::ranges::find_if(
        tokens, [&](const FoundToken& token) { return text.substr(at).starts_with(token.text); });
    if (found == tokens.end()) {
      ++at;
      continue;
    }
    encode_part(text.substr(begin, at - begin), list + 1, to);
    to.ids.push_back(found->id);
    begin = at += found->text.size();
  }
  encode_part(text.substr(begin), list + 1, to);
}

std::vector<int32_t> BytePairEncoding::encode(std::string_view text) const {
  check<ValueError>(text.size() < (size_t{1} << 31), "encode: the text is too long: ", text.size(),
                    " bytes. Pass less than 2^31 at a time.");
  Encoding encoding;
  encoding.text = text;
  encoding.ids.reserve(text.size() / 3);
  encode_part(text, 0, encoding);
  return std::move(encoding.ids);
}

std::string BytePairEncoding::decode(std::span<const int32_t> ids) const {
  std::string text = decode_inside(ids);
  const bool marked = attrs_.normalization.front != Front::none && text.starts_with(' ');
  return marked ? text.substr(1) : text;
}

std::string BytePairEncoding::decode_inside(std::span<const int32_t> ids) const {
  std::string text;
  for (const int32_t id : ids) {
    check<IndexError>(id >= 0 && id < size() && !tokens_[static_cast<size_t>(id)].empty(),
                      "decode: there is no such token: ", id, " of ", size(),
                      ". Pass ids of this tokenizer.");
    const std::string& token = tokens_[static_cast<size_t>(id)];
    if (const auto byte = byte_of_.find(id); byte != byte_of_.end()) {
      text += byte->second;
      continue;
    }
    size_t begin = 0;
    for (size_t mark;
         attrs_.normalization.marks && (mark = token.find(kBlankMark, begin)) != token.npos;
         begin = mark + kBlankMark.size())
      text.append(token, begin, mark - begin) += ' ';
    text.append(token, begin);
  }
  return text;
}

}  // namespace plimsoll::data
