#include "autograd/autocast.h"

#include <algorithm>
#include <unordered_map>

#include "autograd/no_grad.h"
#include "core/engine/trace.h"
#include "ops/pointwise/copy/copy.h"

namespace plimsoll {

// The casts that were made, by the source's storage. Emptied when a scope ends; in a scope that
// lasts, those that are gone are dropped each time as many have been added as were left before.
struct CastCache {
  // One cast, as long as both sides exist: holding them here would keep memory alive.
  struct Made {
    Value from, to;  // without their storages
    std::weak_ptr<Storage> source, result;
    uint32_t version;  // of the source
  };
  std::unordered_map<const Storage*, Made> made{};
  size_t tidy_at = 64;
};

namespace {

CastCache& cache() {
  auto& casts = thread_state().casts;
  if (!casts) casts = std::make_shared<CastCache>();
  return *casts;
}

Value without_storage(Value value) {
  value.storage.reset();
  return value;
}

void remember(const Value& from, const Value& to) {
  auto& [made, tidy_at] = cache();
  if (made.size() >= tidy_at) {
    std::erase_if(made, [](const auto& entry) { return entry.second.result.expired(); });
    tidy_at = 2 * made.size() + 64;
  }
  made[from.storage.get()] = {without_storage(from), without_storage(to), from.storage, to.storage,
                              from.storage->version()};
}

bool same_look(const Value& a, const Value& b) {
  return a.meta == b.meta && a.strides == b.strides && a.offset == b.offset;
}

// The cast made before, if it is still what a new one would be; undefined otherwise. One that was
// made outside a capture has bytes inside it that no replay would renew.
Tensor found(const Value& from, DType to) {
  const auto& made = cache().made;
  const auto entry = made.find(from.storage.get());
  if (entry == made.end()) return {};
  const CastCache::Made& m = entry->second;
  const std::shared_ptr<Storage> result = m.result.lock();
  const uint64_t trace = Trace::current() ? Trace::current()->id() : 0;
  if (!result || result->trace() != trace || m.source.lock() != from.storage ||
      m.version != from.storage->version() || m.to.meta.dtype != to || !same_look(m.from, from))
    return {};
  Value value = m.to;
  value.storage = result;
  return Tensor(value);
}

Tensor bytes_cast(const Tensor& x, DType to) {
  Tensor result = found(x.value(), to);
  if (result.defined()) return result;
  const NoGrad scope;
  result = cast(x, to);
  remember(x.value(), result.value());
  return result;
}

// Input 0 is the cast value, off the tape; input 1 what it was cast from, where the gradient goes.
// The output is a view of input 0.
Value autocast_view(const Value& in, const Meta&, const Attrs&, int) { return in; }

std::vector<Tensor> autocast_vjp(const Backward& b) {
  return {Tensor(), cast(b.grad(), b.input_meta(1).dtype)};
}

constexpr OpDef autocast_op{
    .name = "autocast", .infer = same_as_input, .vjp = {autocast_vjp}, .view = autocast_view};

Tensor cast_shared(const Tensor& x, DType to) {
  const Tensor result = bytes_cast(x, to);
  return x.needs_grad() && apply_mode().record ? apply1(autocast_op, {result, x}) : result;
}

bool takes_part(const Tensor& x) {
  return x.defined() && is_floating(x.dtype()) && x.dtype() != DType::f64;
}

// f16 and bf16 together are f32: neither holds the other's numbers.
DType widest(std::span<const Tensor> inputs) {
  DType dtype = DType::f32;
  bool first = true;
  for (const Tensor& x : inputs) {
    if (!takes_part(x)) continue;
    dtype = first || dtype == x.dtype() ? x.dtype() : DType::f32;
    first = false;
  }
  return dtype;
}

std::vector<Tensor> cast_inputs(CastRule rule, std::span<const Tensor> inputs) {
  std::vector<Tensor> results(inputs.begin(), inputs.end());
  if (rule == CastRule::keep) return results;
  const DType to = rule == CastRule::low    ? apply_mode().low
                   : rule == CastRule::full ? DType::f32
                                            : widest(inputs);
  for (Tensor& x : results)
    if (takes_part(x) && x.dtype() != to) x = cast_shared(x, to);
  return results;
}

ApplyMode casting_to(Precision precision) {
  ApplyMode mode = apply_mode();
  mode.casts = precision == Precision::f32 ? nullptr : cast_inputs;
  mode.low = precision == Precision::bf16  ? DType::bf16
             : precision == Precision::f16 ? DType::f16
                                           : DType::f32;
  return mode;
}

}  // namespace

const char* name_of(Precision precision) {
  static constexpr const char* kNames[] = {"f32", "bf16", "f16"};
  return kNames[static_cast<size_t>(precision)];
}

Autocast::Autocast(Precision precision) : scope_(casting_to(precision)) {}

Autocast::~Autocast() { thread_state().casts.reset(); }

}  // namespace plimsoll
