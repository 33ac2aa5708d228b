#include "examples/common/chat_data.h"

#include <algorithm>
#include <numeric>

#include "data/file.h"
#include "data/random.h"
#include "data/text/normalize.h"

namespace plimsoll::examples {
namespace {

constexpr int64_t kNoLabel = -100;
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

ChatData::Row row_of(data::Conversation conversation, const data::ChatTemplate& form,
                     const data::BytePairEncoding& bpe, const std::string& place) {
  for (data::Message& message : conversation.messages)
    message.content = data::normalized(message.content, {.nfc = bpe.normalization().nfc}, false);
  const data::ChatText chat = form.text(conversation);
  const std::vector<int32_t> ids = bpe.encode(chat.text);
  const std::vector<size_t> ends = ends_of(ids, chat.text, bpe, place);
  ChatData::Row row;
  for (size_t t = 0; t + 1 < ids.size(); ++t) {
    const bool answers = std::ranges::any_of(chat.answers, [&](const auto& answer) {
      return ends[t] >= answer.first && ends[t + 1] <= answer.second;
    });
    row.ids.push_back(ids[t]);
    row.labels.push_back(answers ? ids[t + 1] : kNoLabel);
  }
  return row;
}

std::string fingerprint_of(const std::vector<ChatData::Row>& rows) {
  std::string hash;
  for (const ChatData::Row& row : rows) {
    hash = train::fingerprint(std::as_bytes(std::span(row.ids)), hash);
    hash = train::fingerprint(std::as_bytes(std::span(row.labels)), hash);
  }
  return hash;
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

data::Batch batch_of(const std::vector<ChatData::Row>& rows, std::span<const int64_t> which,
                     int64_t context, Device device) {
  const Shape shape{std::ssize(which), context};
  std::vector<int64_t> x(static_cast<size_t>(count(shape)), 0);
  std::vector<int64_t> y(x.size(), kNoLabel);
  for (size_t r = 0; r < which.size(); ++r) {
    const ChatData::Row& row = rows[static_cast<size_t>(which[r])];
    const auto at = static_cast<std::ptrdiff_t>(r) * context;
    std::ranges::copy(row.ids, x.begin() + at);
    std::ranges::copy(row.labels, y.begin() + at);
  }
  const MemoryScope scope(MemoryClass::input);
  return {Tensor::of(std::span<const int64_t>(x), shape, device),
          Tensor::of(std::span<const int64_t>(y), shape, device)};
}

}  // namespace

ChatData::ChatData(const std::vector<data::Conversation>& conversations,
                   const data::ChatTemplate& form, const data::BytePairEncoding& bpe,
                   const ChatOptions& options)
    : file_(options.file), device_(options.device) {
  check<DataError>(conversations.size() >= 2, "chat: there is one conversation alone: ", file_,
                   ". Write another, to be held out.");
  std::vector<Row> rows;
  const int64_t most = options.context > 0 ? options.context : options.most;
  for (const data::Conversation& conversation : conversations) {
    const std::string place = cat(file_, " line ", conversation.line);
    rows.push_back(row_of(conversation, form, bpe, place));
    const int64_t length = std::ssize(rows.back().ids);
    check<DataError>(length <= most, "chat: the conversation is longer than the context: ", place,
                     " has ", length, " tokens for ", most, ". Shorten it",
                     most < options.most ? ", or use a larger context." : ".");
    context_ = std::max(context_, length);
  }
  if (options.context > 0) context_ = options.context;
  const auto held = std::max<std::ptrdiff_t>(1, std::ssize(rows) / kHeldOut);
  held_out_ = std::make_shared<std::vector<Row>>(rows.end() - held, rows.end());
  rows.resize(rows.size() - static_cast<size_t>(held));
  training_ = std::make_shared<std::vector<Row>>(std::move(rows));
}

train::Batches ChatData::batches_of(const Rows& rows, int64_t batch) const {
  train::Batches batches;
  batches.name = cat(file_, ", ", rows->size(), " conversations");
  batches.item = "tokens";
  batches.items = batch * context_;
  batches.identity = {{"data", cat(rows->size(), " conversations")},
                      {"conversations", fingerprint_of(*rows)}};
  for (const Row& row : *rows) batches.data_bytes += 16 * std::ssize(row.ids);
  return batches;
}

train::Batches ChatData::training(int64_t batch, uint64_t seed) const {
  const int64_t all = std::ssize(*training_);
  check<DataError>(all >= batch, "chat: there are fewer conversations to train on than a batch ",
                   "has: ", all, " in ", file_, " for ", batch, ". Use a smaller --batch.");
  train::Batches batches = batches_of(training_, batch);
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
  const int64_t all = std::ssize(*held_out_);
  train::Batches batches = batches_of(held_out_, batch);
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
