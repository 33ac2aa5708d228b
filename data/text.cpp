#include "data/text.h"

#include <algorithm>

#include "data/random.h"

namespace plimsoll::data {
namespace {

void check_windows(std::span<const uint8_t> tokens, WindowAttrs attrs) {
  check<ValueError>(attrs.batch >= 1 && attrs.context >= 1,
                    "windows: batch and context must be at least 1: batch ", attrs.batch,
                    ", context ", attrs.context, ". Pass larger ones.");
  check<DataError>(
      std::ssize(tokens) > attrs.context,
      "windows: the text is shorter than a window and its next character: ", tokens.size(), " of ",
      attrs.context + 1, " characters. Use more text or a smaller context.");
}

// x: the windows that begin at `starts`; y: the same, one token later.
Batch windows_at(std::span<const uint8_t> tokens, int64_t context,
                 const std::vector<int64_t>& starts) {
  const MemoryScope scope(MemoryClass::input);
  const Meta meta{{std::ssize(starts), context}, DType::i64};  // [B, T]
  Batch batch{Tensor::empty(meta, "windows"), Tensor::empty(meta, "windows")};
  auto* x = batch.x.data<int64_t>();
  auto* y = batch.y.data<int64_t>();
  for (int64_t start : starts) {
    x = std::copy_n(&tokens[start], context, x);
    y = std::copy_n(&tokens[start + 1], context, y);
  }
  return batch;
}

}  // namespace

Vocabulary::Vocabulary(std::string_view text) {
  check<DataError>(!text.empty(), "vocabulary: the text is empty. Use a file with some text.");
  tokens_.fill(-1);
  for (char c : text) tokens_[static_cast<uint8_t>(c)] = 0;
  for (int byte = 0; byte < 256; ++byte) {
    if (tokens_[byte] < 0) continue;
    tokens_[byte] = static_cast<int16_t>(bytes_.size());
    bytes_.push_back(static_cast<char>(byte));
  }
}

std::vector<uint8_t> Vocabulary::encode(std::string_view text) const {
  std::vector<uint8_t> tokens;
  tokens.reserve(text.size());
  for (char c : text) {
    const int16_t token = tokens_[static_cast<uint8_t>(c)];
    check<ValueError>(token >= 0, "encode: a byte is not in the vocabulary: byte ",
                      int{static_cast<uint8_t>(c)}, " at position ", tokens.size(), " of ",
                      text.size(), ". Use only characters of the training text.");
    tokens.push_back(static_cast<uint8_t>(token));
  }
  return tokens;
}

std::string Vocabulary::decode(std::span<const int64_t> tokens) const {
  std::string text;
  for (int64_t token : tokens) {
    check<IndexError>(0 <= token && token < size(), "decode: there is no such token: ", token,
                      " of ", size(), ". Pass tokens of this vocabulary.");
    text.push_back(bytes_[static_cast<size_t>(token)]);
  }
  return text;
}

TextDataset split_text(std::string name, std::string_view text) {
  check<DataError>(!text.empty(), "text: it is empty: ", name, ". Use a file with some text.");
  Vocabulary vocabulary(text);
  const size_t first = text.size() * 9 / 10;
  std::vector<uint8_t> train = vocabulary.encode(text.substr(0, first));
  std::vector<uint8_t> validation = vocabulary.encode(text.substr(first));
  return {std::move(name), std::move(vocabulary), std::move(train), std::move(validation)};
}

Batch random_windows(std::span<const uint8_t> tokens, WindowAttrs attrs, uint64_t key,
                     uint64_t step) {
  check_windows(tokens, attrs);
  Random random(key, step);
  std::vector<int64_t> starts(static_cast<size_t>(attrs.batch));
  for (int64_t& start : starts) start = random.index(std::ssize(tokens) - attrs.context);
  return windows_at(tokens, attrs.context, starts);
}

int64_t evaluation_batches(std::span<const uint8_t> tokens, WindowAttrs attrs) {
  check_windows(tokens, attrs);
  const int64_t windows = (std::ssize(tokens) - 1) / attrs.context;
  return (windows + attrs.batch - 1) / attrs.batch;
}

Batch evaluation_windows(std::span<const uint8_t> tokens, WindowAttrs attrs, int64_t index) {
  const int64_t batches = evaluation_batches(tokens, attrs);
  check<IndexError>(0 <= index && index < batches, "windows: there is no such batch: ", index,
                    " of ", batches, ". Count from 0.");
  const int64_t windows = (std::ssize(tokens) - 1) / attrs.context;
  std::vector<int64_t> starts;
  for (int64_t w = index * attrs.batch; w < std::min(windows, (index + 1) * attrs.batch); ++w)
    starts.push_back(w * attrs.context);
  return windows_at(tokens, attrs.context, starts);
}

}  // namespace plimsoll::data
