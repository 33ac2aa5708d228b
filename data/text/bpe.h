// Byte pair encoding as GPT-2, Llama and Qwen do it: text becomes token ids, the same as theirs,
// and ids become the text again, byte by byte.
//
//   const BytePairEncoding bpe = load_tokenizer("gpt2");   // a folder with vocab.json, merges.txt
//   std::vector<int32_t> ids = bpe.encode("Hello, world"); // {15496, 11, 995}
//   bpe.decode(ids);                                       // "Hello, world"
//
// A text is cut into pieces (data/text/pretokenize.h). A piece begins as its bytes, or as its
// characters, of which those that are no tokens become their bytes (SentencePiece); of the
// neighbours that may be merged, those with the lowest rank are, the leftmost first, until none may
// be (Sennrich et al., "Neural Machine Translation of Rare Words with Subword Units", 2016).
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/error.h"
#include "data/text/normalize.h"
#include "data/text/pretokenize.h"

namespace plimsoll::data {

// Tokens `left` and `right` side by side become `merged`.
struct Merge {
  int32_t left, right, merged;
  bool operator==(const Merge&) const = default;
};

// A text that is found before anything else is done, and the id that it becomes: most often, but
// not always, that of the token with this text.
struct FoundToken {
  std::string text;
  int32_t id;
};

// Where the libraries differ.
struct BpeAttrs {
  // A piece that is a token becomes that token, also where its merges would not make it.
  bool whole_pieces = false;
  // What is found in a text before it is cut into pieces: what the first list has, then, in what is
  // left, what the second has, and so on. Of one list the leftmost, there the longest.
  std::vector<std::vector<FoundToken>> found_first = {};
  Cut cut = Cut::gpt2;
  // Of what the first of those lists has left, or, as Metaspace does it, all of them.
  TextNormalization normalization = {};
  bool normalized_last = false;
  // Pieces begin as characters. One that is no token becomes the tokens "<0x00>" ... "<0xFF>" of
  // its bytes where all are there, else `unknown`, once for several in a row if these are fused.
  bool characters = false;
  bool byte_tokens = false, fuse_unknown = false;
  std::optional<int32_t> unknown = {};
  // What a text that begins anew has before it, and behind it where it ends: encode() adds neither.
  std::vector<int32_t> front = {}, back = {};
};

class BytePairEncoding {
 public:
  // tokens[id] is the text of token id; an empty one is a number without a token. `merges` in the
  // order of their ranks. DataError when one of the 256 bytes is no token, where those are needed,
  // a token number is out of range, or the same two tokens are merged twice.
  BytePairEncoding(std::vector<std::string> tokens, std::span<const Merge> merges,
                   BpeAttrs attrs = {});

  // Ids are below it.
  int64_t size() const { return static_cast<int64_t>(tokens_.size()); }

  // Any bytes: those that are not valid UTF-8 are tokens too. Names of special tokens are text
  // like any other, but for those of attrs.found_first. ValueError for 2^31 bytes or more.
  std::vector<int32_t> encode(std::string_view text) const;

  // IndexError for an id that is no token. A mark that encode() puts before a text is left out.
  std::string decode(std::span<const int32_t> ids) const;
  // The same of ids somewhere in a text.
  std::string decode_inside(std::span<const int32_t> ids) const;

  const TextNormalization& normalization() const { return attrs_.normalization; }
  const std::vector<int32_t>& front() const { return attrs_.front; }
  const std::vector<int32_t>& back() const { return attrs_.back; }

  // The first token with this text, such as "<|endoftext|>".
  std::optional<int32_t> find(std::string_view token) const;

 private:
  // What two neighbours become.
  struct RankedMerge {
    int32_t rank, merged;
  };
  void add_merges(std::span<const Merge> merges);
  void find_bytes();
  void find_added();

  // A list of attrs.found_first, the longest texts first.
  struct Found {
    std::vector<FoundToken> tokens;
    std::string first_bytes;
  };

  struct Encoding;  // under way
  void encode_part(std::string_view text, size_t list, Encoding& to) const;
  void encode_pieces(std::string_view text, Encoding& to) const;
  void begin_as_bytes(std::string_view piece, Encoding& to) const;
  void begin_as_characters(std::string_view piece, Encoding& to) const;
  void encode_piece(std::string_view piece, Encoding& to) const;

  std::vector<std::string> tokens_;
  std::unordered_map<std::string, int32_t> ids_;  // by the text of their tokens
  std::array<int32_t, 256> bytes_{};
  std::unordered_map<int32_t, char> byte_of_;         // those of tokens "<0x00>" ... "<0xFF>"
  std::unordered_map<uint64_t, RankedMerge> merges_;  // by both neighbours
  BpeAttrs attrs_;
  std::vector<Found> found_first_;
  size_t normalized_at_;  // before which of these lists
};

}  // namespace plimsoll::data
