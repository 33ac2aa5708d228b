#include "memory/pool/pooled_allocator.h"

#include <cstdio>

namespace plimsoll {
namespace {

// Small blocks have segments of their own, so that a bias or an optimizer's counter does not come
// to lie in, and pin, the segment of a large activation. Large blocks get exact segments.
// Under a limit all are large.
constexpr int64_t kSmallBlock = int64_t{1} << 20;
constexpr int64_t kSmallSegment = int64_t{1} << 21;

void observe(Peak& peak, int64_t in_use, const BytesByClass& by_class) {
  if (in_use >= peak.bytes) peak = {in_use, by_class};
}

}  // namespace

PooledAllocator::PooledAllocator(Provider provider, int64_t limit)
    : provider_(std::move(provider)), limit_(limit) {}

PooledAllocator::~PooledAllocator() { release_free_segments(); }

void* PooledAllocator::allocate(int64_t bytes, MemoryClass memory_class, const char* op) {
  const int64_t size = block_bytes(bytes);
  if (size == 0) return nullptr;
  const std::lock_guard lock(mutex_);
  std::byte* data = take_anywhere(size);
  if (!data) refuse(size, op);
  ++allocations_;
  record(size, memory_class);
  history_.add(MemoryEvent::Kind::allocate, data, size, memory_class, op);
  return data;
}

void PooledAllocator::deallocate(void* data, int64_t bytes, MemoryClass memory_class) noexcept {
  if (!data) return;
  const std::lock_guard lock(mutex_);
  ++frees_;
  record(-block_bytes(bytes), memory_class);
  auto block = blocks_.find(static_cast<std::byte*>(data));
  history_.add(MemoryEvent::Kind::free, block->first, block->second.bytes, memory_class);
  FreeBlocks& free = free_[block->second.kind];
  const auto take_over = [&](Blocks::iterator left, Blocks::iterator right) {
    left->second.bytes += right->second.bytes;
    blocks_.erase(right);
  };
  const auto next = std::next(block);
  if (next != blocks_.end() && next->second.free() && !next->second.first) {
    spare_ = free.extract({next->second.bytes, next->first});
    take_over(block, next);
  }
  if (!block->second.first && std::prev(block)->second.free()) {
    const auto previous = std::prev(block);
    previous->second.place = free.extract({previous->second.bytes, previous->first});
    take_over(previous, block);
    block = previous;
  }
  put_free(block);
}

// A place for a block that is to be. What can fail is done before anything changes.
PooledAllocator::FreeBlocks::node_type PooledAllocator::new_place() {
  if (spare_) return std::move(spare_);
  FreeBlocks places;
  return places.extract(places.emplace().first);
}

void PooledAllocator::put_free(Blocks::iterator block) noexcept {
  FreeBlocks::node_type place = std::move(block->second.place);
  place.value() = {block->second.bytes, block->first};
  free_[block->second.kind].insert(std::move(place));
}

std::byte* PooledAllocator::take_anywhere(int64_t bytes) {
  const Kind kind = bytes <= kSmallBlock && !exact() ? kSmall : kLarge;
  if (std::byte* data = take_free(bytes, kind, exact())) return data;
  if (grow(bytes, kind)) return take_free(bytes, kind, exact());
  for (const Kind other : {kLarge, kSmall})  // the last resort: the other kind of segment
    if (std::byte* data = take_free(bytes, other)) return data;
  return nullptr;
}

// Best fit, cut to size; nullptr when no free block is large enough. With `whole`, one of just this
// size.
std::byte* PooledAllocator::take_free(int64_t bytes, Kind kind, bool whole) {
  FreeBlocks& free = free_[kind];
  const auto fit = free.lower_bound({bytes, nullptr});
  if (fit == free.end() || (whole && fit->first > bytes)) return nullptr;
  const auto [available, address] = *fit;
  const auto block = blocks_.find(address);
  if (available > bytes) {
    const auto rest = blocks_.emplace_hint(
        std::next(block), address + bytes,
        Block{.bytes = available - bytes, .first = false, .kind = kind, .place = new_place()});
    put_free(rest);
    block->second.bytes = bytes;
  }
  block->second.place = free.extract(fit);
  return address;
}

// A segment that holds `bytes`: of the preferred size, if need be after giving back what is cached,
// else of the exact size.
bool PooledAllocator::grow(int64_t bytes, Kind kind) {
  const int64_t preferred = kind == kSmall ? kSmallSegment : bytes;
  if (add_segment(preferred, kind)) return true;
  if (bytes > limit_ - held()) return false;
  do {
    const int64_t over = preferred - (limit_ - reserved_);  // else the provider has no more
    if (!release_one(over > 0 ? over : preferred)) return add_segment(bytes, kind);
  } while (!add_segment(preferred, kind));
  return true;
}

bool PooledAllocator::add_segment(int64_t bytes, Kind kind) {
  if (bytes > limit_ - reserved_) return false;
  Blocks made;
  made.emplace(nullptr, Block{.bytes = bytes, .first = true, .kind = kind, .place = new_place()});
  auto* data = static_cast<std::byte*>(provider_.acquire(bytes));
  if (!data) return false;
  Blocks::node_type segment = made.extract(made.begin());
  segment.key() = data;
  put_free(blocks_.insert(std::move(segment)).position);
  reserved_ += bytes;
  history_.add(MemoryEvent::Kind::segment_allocate, data, bytes);
  return true;
}

bool PooledAllocator::is_free_segment(Blocks::const_iterator block) const {
  const auto next = std::next(block);
  return block->second.free() && block->second.first &&
         (next == blocks_.end() || next->second.first);
}

PooledAllocator::Blocks::iterator PooledAllocator::release(Blocks::iterator segment) {
  const Block& block = segment->second;
  free_[block.kind].erase({block.bytes, segment->first});
  history_.add(MemoryEvent::Kind::segment_free, segment->first, block.bytes);
  provider_.release(segment->first, block.bytes);
  reserved_ -= block.bytes;
  return blocks_.erase(segment);
}

// Gives back one segment that holds no block: the smallest of at least `bytes`, else the largest.
bool PooledAllocator::release_one(int64_t bytes) {
  auto best = blocks_.end();
  const auto better = [&](int64_t a, int64_t b) {
    return a >= bytes && b >= bytes ? a < b : a > b;
  };
  for (auto block = blocks_.begin(); block != blocks_.end(); ++block)
    if (is_free_segment(block) &&
        (best == blocks_.end() || better(block->second.bytes, best->second.bytes)))
      best = block;
  if (best == blocks_.end()) return false;
  release(best);
  return true;
}

void PooledAllocator::release_free_segments() {
  for (auto block = blocks_.begin(); block != blocks_.end();)
    block = is_free_segment(block) ? release(block) : std::next(block);
}

// Of what is taken from the provider, what trim() would keep.
int64_t PooledAllocator::held() const {
  int64_t bytes = reserved_;
  for (auto block = blocks_.begin(); block != blocks_.end(); ++block)
    if (is_free_segment(block)) bytes -= block->second.bytes;
  return bytes;
}

void PooledAllocator::refuse(int64_t bytes, const char* op) const {
  const MemoryStats now = snapshot();
  std::string limit = "none", advice = "Use a smaller batch, checkpoint() or a captured Step";
  if (exact()) {
    limit = cat(bytes_text(limit_), " (", limit_, " bytes)");
    const int64_t enough = held() + bytes;  // the smallest limit; below that, the provider said no
    if (enough > limit_ && enough - limit_ <= in_use_)
      advice += cat(": ", enough - limit_, " bytes less suffice");
    if (enough > limit_) advice += cat(", or raise the limit to ", enough, " bytes");
  }
  char fragmentation[32];
  std::snprintf(fragmentation, sizeof fragmentation, "%.0f %%", 100 * now.fragmentation);
  fail<OutOfMemory>(with_module(op, current_module()), ": out of memory on ", device(),
                    ": asked for ", bytes_text(bytes), " (", bytes, " bytes), in use ",
                    bytes_text(in_use_), " (", bytes_text(by_class_), "), largest free block ",
                    bytes_text(now.largest_free), ", fragmentation ", fragmentation, ", limit ",
                    limit, ". ", advice, ".");
}

void PooledAllocator::record(int64_t bytes, MemoryClass memory_class) {
  in_use_ += bytes;
  at(by_class_, memory_class) += bytes;
  if (bytes < 0) return;
  observe(peak_, in_use_, by_class_);
  for (Peak* region : regions_) observe(*region, in_use_, by_class_);
}

void PooledAllocator::reclassify(int64_t bytes, MemoryClass from, MemoryClass to) noexcept {
  const std::lock_guard lock(mutex_);
  record(-block_bytes(bytes), from);
  record(block_bytes(bytes), to);  // also corrects the peak, when this still is its moment
}

void PooledAllocator::trim() {
  const std::lock_guard lock(mutex_);
  release_free_segments();
}

void PooledAllocator::set_limit(int64_t limit) {
  const std::lock_guard lock(mutex_);
  limit_ = limit;
  if (reserved_ > limit_) release_free_segments();
}

int64_t PooledAllocator::limit() const {
  const std::lock_guard lock(mutex_);
  return limit_;
}

MemoryStats PooledAllocator::stats() const {
  const std::lock_guard lock(mutex_);
  return snapshot();
}

MemoryStats PooledAllocator::snapshot() const {
  MemoryStats now{.in_use = in_use_,
                  .reserved = reserved_,
                  .free = reserved_ - in_use_,
                  .allocations = allocations_,
                  .frees = frees_,
                  .by_class = by_class_,
                  .peak = peak_};
  for (const FreeBlocks& free : free_)
    if (!free.empty()) now.largest_free = std::max(now.largest_free, free.rbegin()->first);
  if (now.free > 0)
    now.fragmentation = 1 - static_cast<double>(now.largest_free) / static_cast<double>(now.free);
  return now;
}

void PooledAllocator::reset_peak() {
  const std::lock_guard lock(mutex_);
  peak_ = {in_use_, by_class_};
}

void PooledAllocator::keep_history(size_t events) {
  const std::lock_guard lock(mutex_);
  history_ = History(events);
}

std::vector<MemoryEvent> PooledAllocator::history() const {
  const std::lock_guard lock(mutex_);
  return history_.events();
}

PeakScope::PeakScope(PooledAllocator& pool) : pool_(pool) {
  const std::lock_guard lock(pool_.mutex_);
  peak_ = {pool_.in_use_, pool_.by_class_};
  pool_.regions_.insert(&peak_);
}

PeakScope::~PeakScope() {
  const std::lock_guard lock(pool_.mutex_);
  pool_.regions_.erase(&peak_);
}

Peak PeakScope::peak() const {
  const std::lock_guard lock(pool_.mutex_);
  return peak_;
}

std::shared_ptr<PooledAllocator> default_pool(Device device) {
  // Leaked on purpose: see the header.
  static const auto& host = *new auto(std::make_shared<PooledAllocator>(host_provider()));
  static const auto& cuda = *new auto(std::make_shared<PooledAllocator>(cuda_provider()));
  static const auto& null = *new auto(std::make_shared<PooledAllocator>(null_provider()));
  return device == Device::cpu ? host : (device == Device::cuda ? cuda : null);
}

std::shared_ptr<PooledAllocator> unplanned_pool(Device device) {
  return std::make_shared<PooledAllocator>(provider_of(device));
}

std::shared_ptr<Allocator> default_allocator(Device device) { return default_pool(device); }

}  // namespace plimsoll
