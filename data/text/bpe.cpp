#include "data/text/bpe.h"

#include <algorithm>

#include "data/text/pretokenize.h"

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
    : tokens_(std::move(tokens)), whole_pieces_(attrs.whole_pieces) {
  for (size_t id = 0; id < tokens_.size(); ++id)
    if (!tokens_[id].empty()) ids_.try_emplace(tokens_[id], static_cast<int32_t>(id));
  for (size_t byte = 0; byte < 256; ++byte) {
    const std::optional<int32_t> id = find(std::string(1, static_cast<char>(byte)));
    check<DataError>(id.has_value(), "bpe: there is no token for byte ", byte,
                     ". Use a byte-level vocabulary, which has one for each.");
    bytes_[byte] = *id;
  }
  add_merges(merges);
  for (std::vector<FoundToken>& list : attrs.found_first) {
    Found& found = found_first_.emplace_back();
    for (const auto& [text, id] : list) {
      check<DataError>(id >= 0 && id < size() && !tokens_[static_cast<size_t>(id)].empty(),
                       "bpe: a token to be found is not there: ", id, " of ", size(),
                       ". Use files that belong together.");
      check<DataError>(!text.empty(), "bpe: a token to be found has no text: ", id,
                       ". Use the file as it was published.");
      if (found.first_bytes.find(text[0]) == std::string::npos) found.first_bytes += text[0];
    }
    found.tokens = std::move(list);
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
  std::vector<int32_t> ids;
  std::vector<Node> nodes;
  std::vector<Candidate> heap;
  std::unordered_map<std::string_view, std::pair<size_t, size_t>> known;
};

void BytePairEncoding::encode_piece(std::string_view piece, Encoding& to) const {
  if (whole_pieces_)
    if (const std::optional<int32_t> id = find(piece)) return to.ids.push_back(*id);
  auto& nodes = to.nodes;
  auto& heap = to.heap;
  const auto n = static_cast<int32_t>(piece.size());
  nodes.clear();
  for (int32_t i = 0; i < n; ++i)
    nodes.push_back({bytes_[static_cast<uint8_t>(piece[static_cast<size_t>(i)])], i - 1, i + 1});
  const auto consider = [&](int32_t place) {
    if (place < 0 || nodes[place].after == n) return;
    const int32_t left = nodes[place].id, right = nodes[nodes[place].after].id;
    const auto merge = merges_.find(pair_of(left, right));
    if (merge == merges_.end()) return;
    heap.push_back({merge->second.rank, place, left, right});
    std::push_heap(heap.begin(), heap.end());
  };
  for (int32_t i = 0; i < n; ++i) consider(i);
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
    const size_t end = piece_end(text, begin);
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
  encoding.ids.reserve(text.size() / 3);
  encode_part(text, 0, encoding);
  return std::move(encoding.ids);
}

std::string BytePairEncoding::decode(std::span<const int32_t> ids) const {
  std::string text;
  for (const int32_t id : ids) {
    check<IndexError>(id >= 0 && id < size() && !tokens_[static_cast<size_t>(id)].empty(),
                      "decode: there is no such token: ", id, " of ", size(),
                      ". Pass ids of this tokenizer.");
    text += tokens_[static_cast<size_t>(id)];
  }
  return text;
}

}  // namespace plimsoll::data
