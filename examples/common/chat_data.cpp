#include "examples/common/chat_data.h"

#include <algorithm>
#include <array>

#include "core/base/ignored_label.h"
#include "data/file.h"
#include "data/loader.h"
#include "data/text/normalize.h"

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

data::Document document_of(data::Conversation conversation, const data::ChatTemplate& form,
                           const data::BytePairEncoding& bpe, const std::string& place) {
  for (data::Message& message : conversation.messages)
    message.content = data::normalized(message.content, {.nfc = bpe.normalization().nfc}, false);
  const data::ChatText chat = form.text(conversation, place);
  const std::vector<int32_t> ids = bpe.encode(chat.text);
  const std::vector<size_t> ends = ends_of(ids, chat.text, bpe, place);
  data::Document tokens;
  for (size_t t = 0; t + 1 < ids.size(); ++t) {
    const bool answers = std::ranges::any_of(chat.answers, [&](const auto& answer) {
      return ends[t] >= answer.first && ends[t + 1] <= answer.second;
    });
    tokens.ids.push_back(ids[t]);
    tokens.labels.push_back(answers ? ids[t + 1] : kIgnoredLabel);
  }
  return tokens;
}

std::string fingerprint_of(const std::vector<data::Document>& conversations) {
  std::string hash;
  for (const data::Document& tokens : conversations) {
    hash = train::fingerprint(std::as_bytes(std::span(tokens.ids)), hash);
    hash = train::fingerprint(std::as_bytes(std::span(tokens.labels)), hash);
  }
  return hash;
}

}  // namespace

ChatData::ChatData(const std::vector<data::Conversation>& conversations,
                   const data::ChatTemplate& form, const data::BytePairEncoding& bpe,
                   const ChatOptions& options)
    : file_(options.file), device_(options.device) {
  check<DataError>(conversations.size() >= 2, "chat: there is one conversation alone: ", file_,
                   ". Write another, to be held out.");
  std::vector<data::Document> all;
  const int64_t most = options.context > 0 ? options.context : options.most;
  for (const data::Conversation& conversation : conversations) {
    const std::string place = cat(file_, " line ", conversation.line);
    all.push_back(document_of(conversation, form, bpe, place));
    const int64_t length = std::ssize(all.back().ids);
    check<DataError>(length <= most, "chat: the conversation is longer than the context: ", place,
                     " has ", length, " tokens for ", most, ". Shorten it",
                     most < options.most ? ", or use a larger context." : ".");
    context_ = std::max(context_, length);
  }
  if (options.context > 0) context_ = options.context;
  const auto held = std::max<std::ptrdiff_t>(1, std::ssize(all) / kHeldOut);
  held_out_ = std::make_shared<data::PackedRows>(
      std::vector<data::Document>(all.end() - held, all.end()), context_);
  all.resize(all.size() - static_cast<size_t>(held));
  training_ = std::make_shared<data::PackedRows>(std::move(all), context_);
}

train::Batches ChatData::batches_of(const data::PackedRows& rows, int64_t batch) const {
  const std::string size =
      cat(rows.documents().size(), " conversations in ", rows.count(), " rows of ", context_);
  train::Batches batches;
  batches.name = cat(file_, ", ", size);
  batches.item = "tokens";
  batches.items = batch * context_;
  batches.identity = {{"data", size}, {"conversations", fingerprint_of(rows.documents())}};
  for (const data::Document& tokens : rows.documents())
    batches.data_bytes += 16 * std::ssize(tokens.ids);
  return batches;
}

train::Batches ChatData::training(int64_t batch, uint64_t seed) const {
  const int64_t all = training_->count();
  check<DataError>(all >= batch, "chat: there are fewer rows to train on than a batch has: ", all,
                   " of ", context_, " tokens with ", training_->documents().size(),
                   " conversations of ", file_, " for ", batch,
                   ". Use a smaller --batch, or a smaller --context.");
  train::Batches batches = batches_of(*training_, batch);
  batches.count = all / batch;
  batches.at = [=, rows = training_, device = device_, each = batches.count](int64_t number) {
    const std::vector<int64_t> order =
        data::permutation(all, seed, static_cast<uint64_t>(number / each));
    const auto first = static_cast<size_t>(number % each * batch);
    return rows->batch(std::span(order).subspan(first, static_cast<size_t>(batch)), device);
  };
  return batches;
}

train::Batches ChatData::held_out(int64_t batch) const {
  const int64_t all = held_out_->count();
  train::Batches batches = batches_of(*held_out_, batch);
  batches.count = (all + batch - 1) / batch;
  batches.split = "validation";
  batches.at = [=, rows = held_out_, device = device_](int64_t number) {
    std::vector<int64_t> which;
    for (int64_t i = number * batch; i < std::min(all, (number + 1) * batch); ++i)
      which.push_back(i);
    return rows->batch(which, device);
  };
  return batches;
}

}  // namespace plimsoll::examples
