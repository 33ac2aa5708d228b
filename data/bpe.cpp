#include "data/bpe.h"

#include <algorithm>
#include <bit>
#include <unordered_map>

#include "data/pretokenize.h"

namespace plimsoll::data {
namespace {

uint64_t pair_of(int32_t left, int32_t right) {
  return static_cast<uint64_t>(left) << 32 | static_cast<uint32_t>(right);
}

// Ids of pieces that came before are copied: pieces up to this length, as many as that.
constexpr size_t kRememberedBytes = 64, kRememberedPieces = size_t{1} << 18;

}  // namespace

BytePairEncoding::BytePairEncoding(std::vector<std::string> tokens, std::span<const Merge> merges)
    : tokens_(std::move(tokens)) {
  bytes_.fill(-1);
  for (size_t id = 0; id < tokens_.size(); ++id)
    if (tokens_[id].size() == 1)
      bytes_[static_cast<uint8_t>(tokens_[id][0])] = static_cast<int32_t>(id);
  for (size_t byte = 0; byte < 256; ++byte)
    check<DataError>(bytes_[byte] >= 0, "bpe: there is no token for byte ", byte,
                     ". Use a byte-level vocabulary, which has one for each.");
  const size_t slots = std::bit_ceil(2 * merges.size() + 2);
  shift_ = 64 - std::countr_zero(slots);
  slots_.resize(slots);
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const auto [left, right, merged] = merges[rank];
    for (const int32_t id : {left, right, merged})
      check<DataError>(id >= 0 && id < size(), "bpe: merge ", rank, " names a token that is not ",
                       "there: ", id, " of ", size(), ". Use files that belong together.");
    check<DataError>(!merge_of(left, right), "bpe: merge ", rank, " is there twice: ", left,
                     " and ", right, ". Use a file without repetitions.");
    size_t slot = first_slot(pair_of(left, right));
    while (slots_[slot].pair != UINT64_MAX) slot = (slot + 1) % slots;
    slots_[slot] = {pair_of(left, right), static_cast<int32_t>(rank), merged};
  }
}

size_t BytePairEncoding::first_slot(uint64_t pair) const {
  return (pair ^ pair >> 29) * 0x9E3779B97F4A7C15u >> shift_;
}

const BytePairEncoding::Slot* BytePairEncoding::merge_of(int32_t left, int32_t right) const {
  const uint64_t pair = pair_of(left, right);
  for (size_t slot = first_slot(pair);; slot = (slot + 1) % slots_.size()) {
    if (slots_[slot].pair == pair) return &slots_[slot];
    if (slots_[slot].pair == UINT64_MAX) return nullptr;
  }
}

// A piece under way: a list of tokens, each at the place of its first byte, and a heap of merges
// that were possible when they were found.
struct BytePairEncoding::Scratch {
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
  std::vector<Node> nodes;
  std::vector<Candidate> heap;
};

void BytePairEncoding::encode_piece(std::string_view piece, Scratch& scratch,
                                    std::vector<int32_t>& ids) const {
  auto& [nodes, heap] = scratch;
  const auto n = static_cast<int32_t>(piece.size());
  nodes.clear();
  for (int32_t i = 0; i < n; ++i)
    nodes.push_back({bytes_[static_cast<uint8_t>(piece[static_cast<size_t>(i)])], i - 1, i + 1});
  const auto consider = [&](int32_t place) {
    if (place < 0 || nodes[place].after == n) return;
    const int32_t left = nodes[place].id, right = nodes[nodes[place].after].id;
    const Slot* merge = merge_of(left, right);
    if (!merge) return;
    heap.push_back({merge->rank, place, left, right});
    std::push_heap(heap.begin(), heap.end());
  };
  for (int32_t i = 0; i < n; ++i) consider(i);
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end());
    const auto [rank, place, left, right] = heap.back();
    heap.pop_back();
    Scratch::Node& node = nodes[place];
    // One of the two may have become part of another token since.
    if (node.id != left || node.after == n || nodes[node.after].id != right) continue;
    Scratch::Node& gone = nodes[node.after];
    node.id = merge_of(left, right)->merged;
    gone.id = -1;
    node.after = gone.after;
    if (node.after < n) nodes[node.after].before = place;
    consider(node.before);
    consider(place);
  }
  for (int32_t i = 0; i < n; i = nodes[i].after) ids.push_back(nodes[i].id);
}

std::vector<int32_t> BytePairEncoding::encode(std::string_view text) const {
  check<ValueError>(text.size() < (size_t{1} << 31), "encode: the text is too long: ", text.size(),
                    " bytes. Pass less than 2^31 at a time.");
  std::vector<int32_t> ids;
  ids.reserve(text.size() / 3);
  Scratch scratch;
  // Where in `ids` the tokens of a piece are: its first place and their number.
  std::unordered_map<std::string_view, std::pair<size_t, size_t>> known;
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
    encode_piece(piece, scratch, ids);
    if (remember && known.size() < kRememberedPieces)
      known.emplace(piece, std::pair(first, ids.size() - first));
  }
  return ids;
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

std::optional<int32_t> BytePairEncoding::find(std::string_view token) const {
  const auto found = std::ranges::find(tokens_, token);
  if (token.empty() || found == tokens_.end()) return std::nullopt;
  return static_cast<int32_t>(found - tokens_.begin());
}

}  // namespace plimsoll::data
