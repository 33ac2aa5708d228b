#include "optim/ranks/shards.h"

#include <algorithm>

#include "autograd/no_grad.h"
#include "core/cuda/seam/cuda.h"
#include "core/ranks/ranks.h"
#include "ops/collective/all_gather/all_gather.h"
#include "ops/pointwise/compare/compare.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/pointwise/math/math.h"
#include "ops/random/full/full.h"
#include "ops/reduction/sum/sum.h"
#include "ops/shape/concat/concat.h"
#include "ops/shape/view/view.h"
#include "ops/update/global_norm/global_norm.h"
#include "ops/update/sums_of_squares/sums_of_squares.h"

namespace plimsoll::optim {
namespace {

void check_parameter(const Tensor& parameter) {
  const Value& value = parameter.value();
  check<ValueError>(value.offset == 0 && value.storage->bytes() == bytes_of(value.meta),
                    "shards: a parameter is a part of a larger tensor: ", value.meta,
                    ". Give it memory of its own.");
}

// `count` elements, from element `from` of one tensor to element `to` of another of the same type.
void copy_elements(const Tensor& source, int64_t from, const Tensor& target, int64_t to,
                   int64_t count) {
  if (target.device() == Device::null || count <= 0) return;  // there are no bytes
  const View x = view_of(source.value()), y = view_of(target.value());
  const int64_t size = size_of(source.dtype());
  copy_bytes(static_cast<std::byte*>(y.data) + to * size, y.meta.device,
             static_cast<const std::byte*>(x.data) + from * size, x.meta.device, count * size);
}

// What rank r has of parameter k of a bucket: elements begin ... end - 1 of the bucket.
struct Range {
  int64_t begin, end;
};
Range range_of(const Bucket& bucket, size_t k, int64_t count, int64_t rank, int64_t ranks) {
  const int64_t part = bucket.count / ranks, first = bucket.offsets[k];
  return {std::max(first, rank * part), std::min(first + count, (rank + 1) * part)};
}

}  // namespace

Shards::Shards(std::vector<Tensor> parameters, ParameterGroups& optimizer, const RankWindow& window,
               int64_t rank, int64_t ranks, int64_t stage)
    : parameters_(std::move(parameters)),
      optimizer_(optimizer),
      buckets_(window.buckets()),
      rank_(rank),
      ranks_(ranks),
      stage_(ranks == 1 ? 0 : stage) {
  check<ValueError>(stage >= 0 && stage <= 3, "shards: there is no such stage: ", stage,
                    ". Use 0 for none of it, up to 3 for parameters too.");
  if (stage_ == 0) return;
  std::ranges::for_each(parameters_, check_parameter);
  for (const auto& [name, own] : optimizer_.groups())
    check<ValueError>(own.reads() == Reads::own_element, "shards: the optimizer",
                      name.empty() ? "" : cat(" \"", name, "\""),
                      " may read whole parameters, of which a rank has parts: stage ", stage,
                      ". Use one whose rule reads Reads::own_element, or stage 0.");
  share_parameters();
  share_state();
}

// One bucket after another, so that not much is there twice.
void Shards::share_parameters() {
  const MemoryScope scope(MemoryClass::parameter);
  for (size_t b = 0; b < buckets_.size(); ++b) {
    const Bucket& bucket = buckets_[b];
    const Placement placement{bucket.dtype, parameters_[bucket.parameters[0]].device()};
    const int64_t size = bucket.count / ranks_;
    if (stage_ < 3) {
      flats_.push_back(zeros({bucket.count}, placement));
      parts_.push_back(slice(flats_.back(), 0, rank_ * size, (rank_ + 1) * size));
    } else {
      parts_.push_back(zeros({size}, placement));
    }
    for (size_t k = 0; k < bucket.parameters.size(); ++k) {
      const Tensor& parameter = parameters_[bucket.parameters[k]];
      if (stage_ < 3)
        copy_elements(parameter, 0, flats_.back(), bucket.offsets[k], parameter.count());
      else
        shared(parts_.back(), b, k).take(parameter);
    }
    lie_in(b, stage_ < 3 ? flats_.back() : Tensor());
  }
}

void Shards::share_state() {
  places_.resize(buckets_.size());
  for (size_t g = 0; g < optimizer_.groups().size(); ++g) {
    Optimizer& own = optimizer_.groups()[g].optimizer;
    const std::vector<std::vector<Tensor>> before = own.slots();
    std::vector<Tensor> parts;
    for (size_t b = 0; b < buckets_.size(); ++b) {
      if (buckets_[b].group != g) continue;
      places_[b] = parts.size();
      parts.push_back(parts_[b]);
    }
    own.update_instead(std::move(parts));
    for (size_t j = 0; j < before.size(); ++j) {
      const auto [b, k] = place_of(optimizer_.places()[g][j]);
      for (size_t slot = 0; slot < before[j].size(); ++slot)
        shared(own.slots()[places_[b]][slot], b, k).take(before[j][slot]);
    }
  }
}

// Parameters of a bucket lie in `flat` from now on; undefined: nowhere.
void Shards::lie_in(size_t b, const Tensor& flat) const {
  const Bucket& bucket = buckets_[b];
  for (size_t k = 0; k < bucket.parameters.size(); ++k)
    parameters_[bucket.parameters[k]].value().storage->become_part_of(
        flat.defined() ? flat.value().storage : nullptr, bucket.offsets[k] * size_of(bucket.dtype));
}

std::pair<size_t, size_t> Shards::place_of(size_t parameter) const {
  for (size_t b = 0; b < buckets_.size(); ++b) {
    const auto& all = buckets_[b].parameters;
    const auto found = std::ranges::find(all, parameter);
    if (found != all.end()) return {b, static_cast<size_t>(found - all.begin())};
  }
  fail<ValueError>("shards: parameter ", parameter, " is in no bucket. Share the window's own.");
}

SharedTensor Shards::shared(const Tensor& part, size_t b, size_t k) const {
  const Bucket& bucket = buckets_[b];
  const Meta meta{parameters_[bucket.parameters[k]].shape(), part.dtype(), Device::cpu};
  const auto gathered = [this, &bucket, k, part, meta] {
    const Tensor all = Tensor::empty(meta, "shards");
    const int64_t size = bucket.count / ranks_;
    for (int64_t r = 0; r < ranks_; ++r) {
      const auto [begin, end] = range_of(bucket, k, all.count(), r, ranks_);
      if (begin >= end) continue;
      const int64_t to = begin - bucket.offsets[k];
      if (r == rank_) copy_elements(part, begin - r * size, all, to, end - begin);
      auto* const bytes = static_cast<std::byte*>(view_of(all.value()).data);
      Ranks::current()->broadcast(bytes + to * size_of(meta.dtype),
                                  (end - begin) * size_of(meta.dtype), r);
    }
    return all;
  };
  const auto take = [this, &bucket, k, part](const Tensor& all) {
    const auto [begin, end] = range_of(bucket, k, all.count(), rank_, ranks_);
    copy_elements(all, begin - bucket.offsets[k], part, begin - rank_ * (bucket.count / ranks_),
                  end - begin);
  };
  return {meta, gathered, take};
}

Shards::Gathered::Gathered(const std::optional<Shards>& shards)
    : shards_(shards && shards->stage_ == 3 ? &*shards : nullptr) {
  if (!shards_) return;
  const MemoryScope scope(MemoryClass::gathered);
  const std::vector<Tensor> flats = shards_->all_gathered(shards_->parts_);
  for (size_t b = 0; b < flats.size(); ++b) shards_->lie_in(b, flats[b]);
}

Shards::Gathered::~Gathered() {
  for (size_t b = 0; shards_ && b < shards_->buckets_.size(); ++b) shards_->lie_in(b, {});
}

void Shards::gather_for_good() {
  if (stage_ < 3) return;
  const std::vector<Tensor> flats = all_gathered(parts_);
  for (size_t b = 0; b < flats.size(); ++b) lie_in(b, flats[b]);
  stage_ = 0;
}

std::vector<Tensor> Shards::all_gathered(const std::vector<Tensor>& parts) const {
  const NoGrad scope;
  std::vector<Tensor> all;
  for (const Tensor& part : parts)
    all.push_back(reshape(all_gather(part), {part.count() * ranks_}));
  return all;
}

std::vector<Tensor> Shards::by_parameter(const std::vector<Tensor>& flats) const {
  std::vector<Tensor> all(parameters_.size());
  for (size_t b = 0; b < buckets_.size(); ++b)
    for (size_t k = 0; k < buckets_[b].parameters.size(); ++k) {
      const size_t i = buckets_[b].parameters[k];
      const int64_t begin = buckets_[b].offsets[k];
      all[i] = reshape(slice(flats[b], 0, begin, begin + parameters_[i].count()),
                       parameters_[i].shape());
    }
  return all;
}

// The same chunks in the same order in all stages, without what is padding on some ranks.
Tensor Shards::norm(const std::vector<Tensor>& grads) const {
  Tensor sums = sums_of_squares(grads, Bucket::kChunk);
  sums = stage_ == 0 ? reshape(sums, {1, sums.count()}) : all_gather(sums);  // [N, chunks]
  std::vector<Tensor> of_buckets;
  int64_t begin = 0;
  bool wide = false;
  for (const Bucket& bucket : buckets_) {
    const int64_t end = begin + bucket.count / (sums.size(0) * Bucket::kChunk);
    const int64_t filled = (bucket.filled + Bucket::kChunk - 1) / Bucket::kChunk;
    const Tensor own = slice(sums, 1, begin, end);
    of_buckets.push_back(slice(reshape(own, {own.count()}), 0, 0, filled));
    begin = end;
    wide = wide || bucket.dtype == DType::f64;
  }
  return cast(sqrt(sum(concat(of_buckets, 0))), wide ? DType::f64 : DType::f32);
}

Shards::Updated Shards::update(std::vector<Tensor> parts, const LossScaler& scaler,
                               double clip_norm, bool return_grads) const {
  const NoGrad scope;
  auto [grads, skip] = scaler.unscale(stage_ == 0 ? all_gathered(parts) : std::move(parts));
  if (stage_ > 0 && skip.defined()) skip = ne(cast(sum(all_gather(skip)), DType::f64), 0);
  Updated updated{.skip = skip};
  if (return_grads) updated.grads = by_parameter(stage_ == 0 ? grads : all_gathered(grads));
  if (clip_norm > 0) {
    const Tensor all = norm(grads);
    for (Tensor& grad : grads) grad = scale_to_norm(grad, all, clip_norm);
  }
  if (stage_ == 0)
    optimizer_.update(by_parameter(grads), skip);
  else
    update_parts(grads, skip);
  return updated;
}

void Shards::update_parts(const std::vector<Tensor>& grads, const Tensor& skip) const {
  for (size_t g = 0; g < optimizer_.groups().size(); ++g) {
    std::vector<Tensor> own;
    for (size_t b = 0; b < buckets_.size(); ++b)
      if (buckets_[b].group == g) own.push_back(grads[b]);
    optimizer_.groups()[g].optimizer.update(own, skip);
  }
  for (const Tensor& flat : flats_)
    all_gather_in_place(reshape(flat, {ranks_, flat.count() / ranks_}));
}

std::vector<SharedTensor> Shards::parameters() const {
  std::vector<SharedTensor> all;
  for (size_t i = 0; stage_ == 3 && i < parameters_.size(); ++i) {
    const auto [b, k] = place_of(i);
    all.push_back(shared(parts_[b], b, k));
  }
  return all;
}

std::vector<std::pair<std::string, SharedTensor>> Shards::state() const {
  std::vector<std::pair<std::string, SharedTensor>> all;
  for (size_t g = 0; stage_ > 0 && g < optimizer_.groups().size(); ++g) {
    const auto& [group, own] = optimizer_.groups()[g];
    for (size_t j = 0; j < optimizer_.places()[g].size(); ++j) {
      const auto [b, k] = place_of(optimizer_.places()[g][j]);
      for (size_t slot = 0; slot < own.slot_names().size(); ++slot)
        all.emplace_back(cat(group, group.empty() ? "" : ".", own.slot_names()[slot], ".", j),
                         shared(own.slots()[places_[b]][slot], b, k));
    }
  }
  return all;
}

}  // namespace plimsoll::optim
