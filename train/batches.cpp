#include "train/batches.h"

#include <charconv>

#include "core/base/hash.h"
#include "data/loader.h"

namespace plimsoll::train {
namespace {

constexpr std::string_view kFingerprint = "fingerprint ";

// "crop=4,flip", as --augment takes it.
std::string augment_text(const data::AugmentAttrs& attrs) {
  std::string text;
  if (attrs.crop > 0) text += cat(",crop=", attrs.crop);
  if (attrs.flip) text += ",flip";
  if (attrs.cutout > 0) text += cat(",cutout=", attrs.cutout);
  return text.empty() ? "none" : text.substr(1);
}

Identity identity_of(const data::Loader& loader) {
  const data::ImageDataset& set = loader.dataset();
  const data::LoaderAttrs& attrs = loader.attrs();
  const std::string seed = cat(" by seed ", attrs.seed);
  Identity identity{
      {"data", cat(set.count(), " images of ", set.height, " x ", set.width, " x ", set.channels,
                   " in ", set.classes, " classes")},
      {"pixels", fingerprint(std::as_bytes(std::span(set.pixels)))},
      {"labels", fingerprint(std::as_bytes(std::span(set.labels)))},
      {kNormalization, text_of(loader.normalization(), set.channels)},
      {"shuffle", attrs.shuffle ? cat("yes,", seed) : "no"},
      {"last batch", attrs.drop_last ? "left out where it is smaller" : "kept"},
      {"augment", cat(augment_text(attrs.augment), attrs.augment.any() ? cat(",", seed) : "")}};
  std::string names;
  for (const std::string& name : set.class_names) names += (names.empty() ? "" : "/") + name;
  if (!names.empty()) identity.emplace_back(kClassNames, names);
  return identity;
}

}  // namespace

std::string fingerprint(std::span<const std::byte> bytes, const std::string& before) {
  return cat(kFingerprint, fnv1a(bytes, fnv1a(before)));
}

bool is_fingerprint(const std::string& value) { return value.starts_with(kFingerprint); }

std::string text_of(const data::Normalization& normalization, int64_t channels) {
  std::string mean = "mean", stddev = "stddev";
  for (size_t c = 0; c < static_cast<size_t>(channels); ++c) {
    mean += cat(" ", normalization.mean[c]);
    stddev += cat(" ", normalization.stddev[c]);
  }
  return cat(mean, ", ", stddev);
}

data::Normalization parse_normalization(const std::string& text) {
  data::Normalization result;
  std::string_view rest = text;
  int64_t channels = 0;
  const auto take = [&](std::string_view word, std::array<float, 3>& values) {
    if (!rest.starts_with(word)) return false;
    rest.remove_prefix(word.size());
    for (channels = 0; channels < 3 && rest.starts_with(' '); ++channels) {
      const auto [end, error] = std::from_chars(rest.data() + 1, rest.data() + rest.size(),
                                                values[static_cast<size_t>(channels)]);
      if (error != std::errc()) return false;
      rest.remove_prefix(static_cast<size_t>(end - rest.data()));
    }
    return true;
  };
  const bool good = take("mean", result.mean) && take(", stddev", result.stddev) && channels > 0;
  check<DataError>(good && text == text_of(result, channels), "train: this is no normalization: \"",
                   text, "\". Give it as in \"mean 0.1307, stddev 0.3081\".");
  return result;
}

// Which batches of each window are asked for.
struct Share {
  int64_t window = 1, first = 0, count = 1;

  // From one that is, to the next.
  int64_t steps_from(int64_t number) const {
    const bool last = number % window + 1 == first + count;
    return last ? window - count + 1 : 1;
  }
};

std::vector<Metas> kinds_of(const data::Loader& loader) {
  const data::ImageDataset& set = loader.dataset();
  const int64_t full = loader.attrs().batch;
  const int64_t rest = loader.attrs().drop_last ? 0 : set.count() % full;
  std::vector<Metas> kinds;
  for (const int64_t n : {full, rest}) {
    if (n == 0) continue;
    const Device device = loader.attrs().device;
    kinds.push_back({{{n, set.height, set.width, set.channels}, DType::f32, device},
                     {{n}, DType::i64, device}});
  }
  return kinds;
}

Batches batches(data::Loader& loader) {
  return batches(std::shared_ptr<data::Loader>(std::shared_ptr<void>(), &loader));
}

Batches batches(std::shared_ptr<data::Loader> owned) {
  const data::Loader& loader = *owned;
  const data::ImageDataset& set = loader.dataset();
  const int64_t count = loader.batches();
  const auto shared = std::make_shared<Share>();
  const auto at = [owned, count, shared, next = int64_t{-1}](int64_t number) mutable {
    if (number != next) owned->start(static_cast<uint64_t>(number / count), number % count);
    const int64_t steps = shared->steps_from(number % count);
    next = number % count + steps < count ? number + steps : -1;  // another epoch is begun anew
    return *owned->next();
  };
  const auto share = [owned, shared](int64_t window, int64_t first, int64_t size) {
    owned->share(window, first, size);
    *shared = {window, first, size};
  };
  return {.at = at,
          .share = share,
          .count = count,
          .kinds = kinds_of(loader),
          .name = cat(set.name, ", ", set.count(), " images"),
          .identity = identity_of(loader),
          .item = "images",
          .items = loader.attrs().batch,
          .data_bytes = std::ssize(set.pixels) + std::ssize(set.labels) * int64_t{sizeof(int64_t)},
          .host_bytes = loader.host_bytes()};
}

Batches completed(Batches batches) {
  check<ValueError>(static_cast<bool>(batches.at), "train: there are no batches. Set Batches::at.");
  for (const Metas& kind : batches.kinds)
    check<ValueError>(kind.size() == 2, "train: a kind of batch is {x, y}: ", kind.size(),
                      " tensors. Give two, or none.");
  const auto add = [&](int64_t number) {
    const data::Batch batch = batches.at(number);
    batches.kinds.push_back({batch.x.meta(), batch.y.meta()});
    if (batches.items == 0) batches.items = batch.y.count();
  };
  if (batches.kinds.empty()) {
    add(0);
    if (batches.count > 1) add(batches.count - 1);
  } else if (batches.items == 0) {
    batches.items = count(batches.kinds.front()[1].shape);
  }
  return batches;
}

}  // namespace plimsoll::train
