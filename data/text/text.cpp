#include "data/text/text.h"

#include <algorithm>

#include "data/random.h"

namespace plimsoll::data {
namespace {

void check_windows(const Tokens& tokens, WindowAttrs attrs) {
  check<ValueError>(attrs.batch >= 1 && attrs.context >= 1,
                    "windows: batch and context must be at least 1: batch ", attrs.batch,
                    ", context ", attrs.context, ". Pass larger ones.");
  check<DataError>(tokens.size() > attrs.context,
                   "windows: the text is shorter than a window and its next token: ", tokens.size(),
                   " tokens for context ", attrs.context, ". Use more text or a smaller context.");
  check_batch_tokens("windows", attrs);
}

Batch empty_batch(int64_t batch, int64_t context) {
  const MemoryScope scope(MemoryClass::input);
  const Meta meta{{batch, context}, DType::i64};  // [B, T]
  return {Tensor::empty(meta, "windows"), Tensor::empty(meta, "windows")};
}

// Row `row` of x becomes the window that begins at `start`, that of y the same one token later.
void set_window(const Batch& batch, int64_t row, const Tokens& tokens, int64_t start) {
  const int64_t context = batch.x.size(1);
  tokens.copy(start, context, batch.x.data<int64_t>() + row * context);
  tokens.copy(start + 1, context, batch.y.data<int64_t>() + row * context);
}

}  // namespace

void check_batch_tokens(const char* what, WindowAttrs attrs) {
  check<ValueError>(attrs.batch <= kMostTokens / attrs.context, what,
                    ": the batch is too large: ", attrs.batch, " of ", attrs.context,
                    " tokens each, at most ", kMostTokens, " in all. Use a smaller batch.");
}

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

Batch random_windows(const Tokens& tokens, WindowAttrs attrs, uint64_t key, uint64_t step) {
  check_windows(tokens, attrs);
  Batch batch = empty_batch(attrs.batch, attrs.context);
  Random random(key, step);
  for (int64_t row = 0; row < attrs.batch; ++row)
    set_window(batch, row, tokens, random.index(tokens.size() - attrs.context));
  return to_device(batch, attrs.device);
}

int64_t evaluation_batches(const Tokens& tokens, WindowAttrs attrs) {
  check_windows(tokens, attrs);
  const int64_t windows = (tokens.size() - 1) / attrs.context;
  return (windows - 1) / attrs.batch + 1;  // windows >= 1
}

Batch evaluation_windows(const Tokens& tokens, WindowAttrs attrs, int64_t index) {
  const int64_t batches = evaluation_batches(tokens, attrs);
  check<IndexError>(0 <= index && index < batches, "windows: there is no such batch: ", index,
                    " of ", batches, ". Count from 0.");
  const int64_t windows = (tokens.size() - 1) / attrs.context;
  const int64_t first = index * attrs.batch;
  Batch batch = empty_batch(std::min(attrs.batch, windows - first), attrs.context);
  for (int64_t row = 0; row < batch.x.size(0); ++row)
    set_window(batch, row, tokens, (first + row) * attrs.context);
  return to_device(batch, attrs.device);
}

}  // namespace plimsoll::data
