#include "examples/common/chat_data.h"

#include <algorithm>
#include <numeric>

#include "core/base/ignored_label.h"
#include "data/file.h"
#include "data/random.h"
#include "data/text/normalize.h"
#include "data/text/packing.h"

namespace plimsoll::examples {
namespace {

constexpr int64_t kHeldOut = 10;  // one of so many

// Where each token ends in the text. Some begin with a blank that a tokenizer puts before a part.
std::vector<size_t> ends_of(const std::vector<int32_t>& ids, const std::string& text,
                            const data::BytePairEncoding& bpe, const std::string& place) {
  std::vector<size_t> ends;
  size_t at = 0;
  for (const int32_t id : ids) {
    const std::string token = bpe.decode_inside(std::array{id});
    const std::string_view rest = std::string_view(text).substr(at);
    if (rest.starts_with(token))
      at += token.size();
    else if (token.starts_with(' ') && rest.starts_with(std::string_view(token).substr(1)))
      at += token.size() - 1;
    else
      fail<DataError>("chat: the tokenizer changes the text: ", place, " at \"", data::shown(rest),
                      "\". Take it out.");
    ends.push_back(at);
  }
  return ends;
}

ChatData::Tokens tokens_of(data::Conversation conversation, const data::ChatTemplate& form,
                           const data::BytePairEncoding& bpe, const std::string& place) {
  for (data::Message& message : conversation.messages)
    message.content = data::normalized(message.content, {.nfc = bpe.normalization().nfc}, false);
  const data::ChatText chat = form.text(conversation, place);
  const std::vector<int32_t> ids = bpe.encode(chat.text);
  const std::vector<size_t> ends = ends_of(ids, chat.text, bpe, place);
  ChatData::Tokens tokens;
  for (size_t t = 0; t + 1 < ids.size(); ++t) {
    const bool answers = std::ranges::any_of(chat.answers, [&](const auto& answer) {
      return ends[t] >= answer.first && ends[t + 1] <= answer.second;
    });
    tokens.ids.push_back(ids[t]);
    tokens.labels.push_back(answers ? ids[t + 1] : kIgnoredLabel);
  }
  return tokens;
}

std::string fingerprint_of(const std::vector<ChatData::Tokens>& conversations) {
  std::string hash;
  for (const ChatData::Tokens& tokens : conversations) {
    hash = train::fingerprint(std::as_bytes(std::span(tokens.ids)), hash);
    hash = train::fingerprint(std::as_bytes(std::span(tokens.labels)), hash);
  }
  return hash;
}

std::shared_ptr<const ChatData::Rows> packed(std::vector<ChatData::Tokens> conversations,
                                             int64_t context) {
  std::vector<int64_t> lengths;
  for (const ChatData::Tokens& tokens : conversations) lengths.push_back(std::ssize(tokens.ids));
  auto rows = data::rows_of(lengths, context, data::Fit::first);
  return std::make_shared<ChatData::Rows>(std::move(conversations), std::move(rows));
}

// Row number i of epoch `epoch`.
std::vector<int64_t> order_of(int64_t rows, uint64_t seed, int64_t epoch) {
  std::vector<int64_t> order(static_cast<size_t>(rows));
  std::iota(order.begin(), order.end(), 0);
  data::Random random(seed, static_cast<uint64_t>(epoch));
  for (int64_t i = rows - 1; i > 0; --i)
    std::swap(order[static_cast<size_t>(i)], order[static_cast<size_t>(random.index(i + 1))]);
  return order;
}

data::Batch batch_of(const ChatData::Rows& rows, std::span<const int64_t> which, int64_t context,
                     Device device) {
  const auto length = static_cast<size_t>(context);
  std::vector<int64_t> x(which.size() * 3 * length), y(which.size() * length, kIgnoredLabel);
  for (size_t r = 0; r < which.size(); ++r) {
    const std::span<int64_t> row = std::span(x).subspan(r * 3 * length, 3 * length);
    const auto tokens = row.subspan(0, length), segments = row.subspan(length, length),
               positions = row.subspan(2 * length, length);
    size_t at = 0;
    const auto put = [&](int64_t segment, size_t size) {
      std::ranges::fill(segments.subspan(at, size), segment);
      std::iota(positions.begin() + static_cast<std::ptrdiff_t>(at),
                positions.begin() + static_cast<std::ptrdiff_t>(at + size), 0);
      at += size;
    };
    int64_t segment = 0;
    for (const size_t i : rows.rows[static_cast<size_t>(which[r])]) {
      const ChatData::Tokens& own = rows.conversations[i];
      std::ranges::copy(own.ids, tokens.subspan(at).begin());
      std::ranges::copy(own.labels, std::span(y).subspan(r * length + at).begin());
      put(segment++, own.ids.size());
    }
    put(segment, length - at);  // padding
  }
  const MemoryScope scope(MemoryClass::input);
  const auto batch = static_cast<int64_t>(which.size());
  return {Tensor::of(std::span<const int64_t>(x), {batch, 3, context}, device),
          Tensor::of(std::span<const int64_t>(y), {batch, context}, device)};
}

}  // namespace

ChatData::ChatData(const std::vector<data::Conversation>& conversations,
                   const data::ChatTemplate& form, const data::BytePairEncoding& bpe,
                   const ChatOptions& options)
    : file_(options.file), device_(options.device) {
  check<DataError>(conversations.size() >= 2, "chat: there is one conversation alone: ", file_,
                   ". Write another, to be held out.");
  std::vector<Tokens> all;
  const int64_t most = options.context > 0 ? options.context : options.most;
  for (const data::Conversation& conversation : conversations) {
    const std::string place = cat(file_, " line ", conversation.line);
    all.push_back(tokens_of(conversation, form, bpe, place));
    const int64_t length = std::ssize(all.back().ids);
    check<DataError>(length <= most, "chat: the conversation is longer than the context: ", place,
                     " has ", length, " tokens for ", most, ". Shorten it",
                     most < options.most ? ", or use a larger context." : ".");
    context_ = std::max(context_, length);
  }
  if (options.context > 0) context_ = options.context;
  const auto held = std::max<std::ptrdiff_t>(1, std::ssize(all) / kHeldOut);
  held_out_ = packed(std::vector<Tokens>(all.end() - held, all.end()), context_);
  all.resize(all.size() - static_cast<size_t>(held));
  training_ = packed(std::move(all), context_);
}

train::Batches ChatData::batches_of(const Rows& rows, int64_t batch) const {
  const std::string size =
      cat(rows.conversations.size(), " conversations in ", rows.rows.size(), " rows of ", context_);
  train::Batches batches;
  batches.name = cat(file_, ", ", size);
  batches.item = "tokens";
  batches.items = batch * context_;
  batches.identity = {{"data", size}, {"conversations", fingerprint_of(rows.conversations)}};
  for (const Tokens& tokens : rows.conversations) batches.data_bytes += 16 * std::ssize(tokens.ids);
  return batches;
}

train::Batches ChatData::training(int64_t batch, uint64_t seed) const {
  const int64_t all = std::ssize(training_->rows);
  check<DataError>(all >= batch, "chat: there are fewer rows to train on than a batch has: ", all,
                   " of ", context_, " tokens with ", training_->conversations.size(),
                   " conversations of ", file_, " for ", batch,
                   ". Use a smaller --batch, or a smaller --context.");
  train::Batches batches = batches_of(*training_, batch);
  batches.count = all / batch;
  batches.at = [=, rows = training_, context = context_, device = device_,
                each = batches.count](int64_t number) {
    const std::vector<int64_t> order = order_of(all, seed, number / each);
    const auto first = static_cast<size_t>(number % each * batch);
    return batch_of(*rows, std::span(order).subspan(first, static_cast<size_t>(batch)), context,
                    device);
  };
  return batches;
}

train::Batches ChatData::held_out(int64_t batch) const {
  const int64_t all = std::ssize(held_out_->rows);
  train::Batches batches = batches_of(*held_out_, batch);
  batches.count = (all + batch - 1) / batch;
  batches.split = "validation";
  batches.at = [=, rows = held_out_, context = context_, device = device_](int64_t number) {
    std::vector<int64_t> which;
    for (int64_t i = number * batch; i < std::min(all, (number + 1) * batch); ++i)
      which.push_back(i);
    return batch_of(*rows, which, context, device);
  };
  return batches;
}

}  // namespace plimsoll::examples
