#include "data/text/passages.h"

#include <algorithm>
#include <cctype>

#include "core/base/hash.h"
#include "data/random.h"

namespace plimsoll::data {
namespace {

using Parts = std::array<std::vector<int32_t>, kPassageClasses>;

bool in_word(unsigned char c) { return std::isalnum(c) || c == '_'; }

std::vector<int32_t> words_of(std::string_view text, int64_t vocabulary) {
  std::vector<int32_t> words;
  for (size_t i = 0; i < text.size();) {
    size_t end = i + 1;
    const auto c = static_cast<unsigned char>(text[i]);
    if (in_word(c))
      while (end < text.size() && in_word(static_cast<unsigned char>(text[end]))) ++end;
    if (!std::isspace(c))
      words.push_back(
          static_cast<int32_t>(fnv1a(text.substr(i, end - i)) % static_cast<uint64_t>(vocabulary)));
    i = end;
  }
  return words;
}

std::string whole_text(const TextDataset& text) {
  std::vector<int64_t> tokens(text.train.begin(), text.train.end());
  tokens.insert(tokens.end(), text.validation.begin(), text.validation.end());
  return text.vocabulary.decode(tokens);
}

void check_passages(const PassageDataset& dataset, const Parts& parts, WindowAttrs attrs) {
  check<ValueError>(attrs.batch >= 1 && attrs.context >= 1,
                    "passages: batch and context must be at least 1: batch ", attrs.batch,
                    ", context ", attrs.context, ". Pass larger ones.");
  for (const auto& part : parts)
    check<DataError>(std::ssize(part) >= attrs.context, "passages: ", dataset.name,
                     " is too short: a part has ", part.size(), " words for passages of ",
                     attrs.context, ". Use a longer text or a smaller context.");
  check_batch_tokens("passages", attrs);
}

Batch empty_batch(int64_t batch, int64_t context) {
  const MemoryScope scope(MemoryClass::input);
  return {Tensor::empty({{batch, context}, DType::i64}, "passages"),
          Tensor::empty({{batch}, DType::i64}, "passages")};
}

void set_passage(const Batch& batch, int64_t row, const std::vector<int32_t>& words, int64_t start,
                 int64_t label) {
  const int64_t context = batch.x.size(1);
  std::copy_n(words.begin() + start, context, batch.x.data<int64_t>() + row * context);
  batch.y.data<int64_t>()[row] = label;
}

}  // namespace

PassageDataset make_passages(const TextDataset& text, PassageAttrs attrs) {
  check<ValueError>(attrs.vocabulary >= 1 && attrs.vocabulary <= INT32_MAX,
                    "passages: the vocabulary must be 1 to ", INT32_MAX, ": ", attrs.vocabulary,
                    ". Pass one of these.");
  const std::vector<int32_t> words = words_of(whole_text(text), attrs.vocabulary);
  const int64_t part = std::ssize(words) / kPassageClasses;
  PassageDataset dataset{text.name, {}, {}};
  for (int64_t label = 0; label < kPassageClasses; ++label) {
    const auto begin = words.begin() + label * part, cut = begin + part * 9 / 10;
    dataset.train[label].assign(begin, cut);
    dataset.test[label].assign(cut, begin + part);
  }
  return dataset;
}

Batch random_passages(const PassageDataset& dataset, WindowAttrs attrs, uint64_t key,
                      uint64_t step) {
  check_passages(dataset, dataset.train, attrs);
  const Batch batch = empty_batch(attrs.batch, attrs.context);
  Random random(key, step);
  for (int64_t row = 0; row < attrs.batch; ++row) {
    const int64_t label = random.index(kPassageClasses);
    const auto& words = dataset.train[label];
    set_passage(batch, row, words, random.index(std::ssize(words) - attrs.context + 1), label);
  }
  return to_device(batch, attrs.device);
}

int64_t test_passage_batches(const PassageDataset& dataset, WindowAttrs attrs) {
  check_passages(dataset, dataset.test, attrs);
  int64_t passages = 0;
  for (const auto& part : dataset.test) passages += std::ssize(part) / attrs.context;
  return (passages + attrs.batch - 1) / attrs.batch;
}

Batch test_passages(const PassageDataset& dataset, WindowAttrs attrs, int64_t index) {
  const int64_t batches = test_passage_batches(dataset, attrs);
  check<IndexError>(index >= 0 && index < batches, "passages: there is no such batch: ", index,
                    " of ", batches, ". Count from 0.");
  const int64_t per_part = std::ssize(dataset.test[0]) / attrs.context;  // parts are equally long
  const int64_t first = index * attrs.batch;
  const int64_t rows = std::min(attrs.batch, kPassageClasses * per_part - first);
  const Batch batch = empty_batch(rows, attrs.context);
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t label = (first + row) / per_part, place = (first + row) % per_part;
    set_passage(batch, row, dataset.test[label], place * attrs.context, label);
  }
  return to_device(batch, attrs.device);
}

}  // namespace plimsoll::data
