#include "train/state.h"

#include <zlib.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <set>

#include "core/engine/transfer.h"
#include "memory/pool/pooled_allocator.h"
#include "train/batches.h"

namespace plimsoll::train {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFormat = "plimsoll training state 1";

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

std::span<const Bytef> bytes_of(const Tensor& tensor) {
  return visit_any(tensor.dtype(), [&]<class T>() {
    const auto* bytes = reinterpret_cast<const Bytef*>(tensor.data<T>());
    return std::span(bytes, static_cast<size_t>(plimsoll::bytes_of(tensor.meta())));
  });
}

// CRC-32 of names, types, shapes and bytes, in the order of the names.
class Checksum {
 public:
  void add(const std::string& name, const Tensor& tensor) {
    const std::string what = cat(name, " ", tensor.dtype(), " ", tensor.shape(), "\n");
    add(std::span(reinterpret_cast<const Bytef*>(what.data()), what.size()));
    if (tensor.count() > 0) add(bytes_of(tensor));
  }
  std::string text() const {
    char digits[16];
    std::snprintf(digits, sizeof digits, "%08lx", crc_);
    return digits;
  }

 private:
  void add(std::span<const Bytef> bytes) { crc_ = crc32_z(crc_, bytes.data(), bytes.size()); }

  uLong crc_ = crc32_z(0, nullptr, 0);
};

bool starts_with_any(const std::string& name, const std::vector<std::string>& prefixes) {
  return std::ranges::any_of(prefixes,
                             [&](const std::string& prefix) { return name.starts_with(prefix); });
}

void check_whole(const formats::Shards& shards, const fs::path& file) {
  for (const formats::Safetensors& state : shards.files()) {
    const std::set<std::string> names(state.names().begin(), state.names().end());
    const std::string where = names.empty() ? file.string() : shards.file_name(*names.begin());
    check<DataError>(is_state(state), "state: this file is no training state: ", where,
                     ". Name one that a run has saved.");
    Checksum checksum;  // one tensor after another: no more memory than the largest takes
    for (const std::string& name : names) checksum.add(name, state.tensor(name));
    const std::string expected = formats::value_of(state.metadata(), "crc32");
    check<DataError>(checksum.text() == expected, "state: the file is damaged: ", where,
                     " has checksum ", checksum.text(), " instead of ", expected,
                     ". Take an older one.");
  }
}

}  // namespace

State& State::add(Entry entry) {
  for (const Entry& other : entries_)
    check<ValueError>(other.name != entry.name, "state: there are two of the name ", entry.name,
                      ". Use another prefix.");
  if (const auto* tensor = std::get_if<Tensor>(&entry.place)) {
    check<StateError>(tensor->defined(), "state: ", entry.name,
                      " is an undefined tensor. Leave it out.");
    check<StateError>(tensor->contiguous(), "state: ", entry.name,
                      " is a strided view: ", tensor->meta(), ". Pass the whole tensor.");
  }
  entries_.push_back(std::move(entry));
  return *this;
}

State& State::same(const std::string& name, std::string value) {
  same_[name] = std::move(value);
  return *this;
}

State& State::may_change(const std::string& name, std::string value, std::string anew,
                         std::string made_with) {
  changeable_values_[name] = std::move(value);
  changeable_.push_back({name, std::move(anew), std::move(made_with)});
  return *this;
}

State& State::noted(const std::string& name, std::string value) {
  noted_[name] = std::move(value);
  return *this;
}

std::vector<State::Share> State::shares(int64_t ranks) const {
  std::vector<Share> all;
  int64_t total = 0, before = 0;
  for (const Entry& entry : entries_) {
    all.push_back(
        {entry.name, plimsoll::bytes_of(meta_of(entry)), 0, !entry.condition || entry.condition()});
    total += all.back().bytes;
  }
  for (Share& share : all) {
    const int64_t middle = 2 * before + share.bytes;
    if (total > 0) share.rank = std::min(middle * ranks / (2 * total), ranks - 1);
    before += share.bytes;
  }
  return all;
}

int64_t State::bytes(int64_t rank, int64_t ranks) const {
  int64_t total = 0;
  for (const Share& share : shares(ranks))
    if (share.rank == rank) total += block_bytes(share.bytes);
  return total;
}

StateCopy State::copy(int64_t rank, int64_t ranks) const {
  const auto copied = [](const Tensor& tensor) {
    if (tensor.device() != Device::cpu) return to_device(tensor, Device::cpu);
    const Tensor copy = Tensor::empty(tensor.meta(), "state");
    if (copy.count() > 0) {
      const auto from = bytes_of(tensor);
      std::memcpy(const_cast<Bytef*>(bytes_of(copy).data()), from.data(), from.size());
    }
    return copy;
  };
  StateCopy result{.tensors = {}, .metadata = same_};
  for (const formats::Metadata& more : {changeable_values_, noted_})
    result.metadata.insert(more.begin(), more.end());
  const std::vector<Share> all = shares(ranks);
  for (size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    const bool own = all[i].rank == rank;
    if (!all[i].saved) continue;
    if (!own && !std::holds_alternative<optim::SharedTensor>(entry.place)) continue;
    const Tensor tensor = std::visit(
        Overloaded{copied, [](const optim::SharedTensor& shared) { return shared.gathered(); },
                   [](const int64_t* n) { return Tensor::of<int64_t>({*n}, {}); },
                   [](const double* x) { return Tensor::of<double>({*x}, {}); }},
        entry.place);
    if (own) result.tensors.push_back({entry.name, tensor});
  }
  return result;
}

Meta State::meta_of(const Entry& entry) {
  return std::visit(Overloaded{[](const Tensor& tensor) {
                                 return Meta{tensor.shape(), tensor.dtype(), Device::cpu};
                               },
                               [](const optim::SharedTensor& shared) { return shared.meta; },
                               [](const int64_t*) {
                                 return Meta{{}, DType::i64};
                               },
                               [](const double*) {
                                 return Meta{{}, DType::f64};
                               }},
                    entry.place);
}

void State::check_fits(const formats::Shards& file, const std::string& name,
                       const std::vector<std::string>& anew) const {
  for (const Entry& entry : entries_) {
    if (starts_with_any(entry.name, anew)) continue;
    if (!file.has(entry.name)) {
      check<DataError>(static_cast<bool>(entry.condition), "state: ", name, " has no ", entry.name,
                       ". It was saved by another model or optimizer.");
      continue;
    }
    const Meta wanted = meta_of(entry);
    const Meta found = file.meta(entry.name);
    check<DataError>(found == wanted, "state: ", name, " has another ", entry.name, ": ", found,
                     " instead of ", wanted, ". It was saved by another model or optimizer.");
  }
  std::set<std::string> known;
  for (const Entry& entry : entries_) known.insert(entry.name);
  for (const std::string& other : file.names())
    check<DataError>(known.contains(other) || starts_with_any(other, anew), "state: ", name,
                     " has ", other,
                     ", which is not part of this training. It was saved by another one.");
}

std::vector<Changed> State::restore(const fs::path& file) const {
  const AllocatorScope scope(unplanned_pool());
  const formats::Shards state(file);
  check_whole(state, file);
  const formats::Metadata& metadata = state.metadata();
  for (const auto& [name, value] : same_) {
    const std::string saved = formats::value_of(metadata, name);
    check<UsageError>(saved == value || !is_fingerprint(value) || !is_fingerprint(saved),
                      "state: ", file.string(), " was saved with other ", name,
                      ". Give the same, or begin anew.");
    check<UsageError>(saved == value, "state: ", file.string(), " was saved with ", name, " ",
                      saved, ", not with ", value, ". Give the same, or begin anew.");
  }
  std::vector<Changed> changed;
  for (const auto& [name, now] : noted_) {
    const std::string saved = formats::value_of(metadata, name);
    if (saved != now && !saved.empty()) changed.push_back({name, saved, now});
  }
  const std::vector<std::string> tensors = state.names();
  std::vector<std::string> anew;
  for (const auto& [name, prefix, made_with] : changeable_) {
    const std::string saved = formats::value_of(metadata, name), now = changeable_values_.at(name);
    if (saved == now || saved.empty()) continue;
    const bool refused = std::ranges::any_of(
        tensors,
        [&with = made_with](const std::string& tensor) { return tensor.starts_with(with); });
    check<UsageError>(!refused, "state: ", file.string(), " was saved with ", name, " ", saved,
                      ", not with ", now, ", and its ", made_with,
                      "* was made with that. Give the same, or take a state without it.");
    changed.push_back({name, saved, now});
    anew.push_back(prefix);
  }
  check_fits(state, file.string(), anew);
  for (const Entry& entry : entries_) {
    if (!state.has(entry.name) || starts_with_any(entry.name, anew)) continue;
    std::visit(Overloaded{[&](const Tensor& tensor) { state.read_into(entry.name, tensor); },
                          [&](const optim::SharedTensor& shared) {
                            shared.take(state.tensor(entry.name));
                          },
                          [&](int64_t* n) { *n = state.tensor(entry.name).item<int64_t>(); },
                          [&](double* x) { *x = state.tensor(entry.name).item<double>(); }},
               entry.place);
  }
  return changed;
}

void write_state(const fs::path& file, const StateCopy& copy) {
  std::vector<const formats::NamedTensor*> sorted;
  for (const formats::NamedTensor& named : copy.tensors) sorted.push_back(&named);
  std::ranges::sort(sorted, {}, &formats::NamedTensor::name);
  Checksum checksum;
  for (const formats::NamedTensor* named : sorted) checksum.add(named->name, named->tensor);
  formats::Metadata metadata = copy.metadata;
  metadata["format"] = kFormat;
  metadata["crc32"] = checksum.text();
  formats::write_safetensors(file, copy.tensors, metadata);
}

bool is_state(const formats::Safetensors& file) {
  return formats::value_of(file.metadata(), "format") == kFormat;
}

void check_whole(const fs::path& file) {
  const AllocatorScope scope(unplanned_pool());
  check_whole(formats::Shards(file), file);
}

}  // namespace plimsoll::train
