#include "memory/step/shared_bytes.h"

#include <algorithm>

namespace plimsoll {
namespace {

bool uses(const Program& program, const std::shared_ptr<Storage>& storage) {
  return std::ranges::find(program.buffers, storage, &Buffer::storage) != program.buffers.end();
}

}  // namespace

void SharedBytes::add(const Program& program, uint64_t first_inside, const Own& own,
                      const std::function<bool(const Own&)>& is_captured) {
  std::erase_if(held_, [&](const auto& storage) {
    const auto alive = storage.lock();
    return !alive || uses(program, alive);
  });
  std::vector<std::shared_ptr<Storage>> here;
  for (const Buffer& buffer : program.buffers)
    if (buffer.kind == Buffer::Kind::external && buffer.storage->born() < first_inside &&
        std::ranges::find(here, buffer.storage) == here.end())
      here.push_back(buffer.storage);
  held_.insert(held_.end(), here.begin(), here.end());

  std::erase_if(own_, [&](const Own& other) { return other.is_for(own.variant, own.inputs); });
  if (own_.size() >= kMost) own_.erase(std::ranges::find_if_not(own_, is_captured));
  own_.push_back(own);
}

int64_t SharedBytes::elsewhere(const Program& program, const Own& own) const {
  int64_t bytes = 0, constants = 0, results = 0;
  for (const auto& storage : held_)
    if (const auto alive = storage.lock(); alive && !uses(program, alive))
      bytes += block_bytes(alive->bytes());
  for (const Own& each : own_) {
    constants += each.constants;
    results = std::max(results, each.results);
  }
  return bytes + constants - own.constants + results - own.results;
}

int64_t constant_bytes(const Program& program, uint64_t first_inside) {
  int64_t bytes = 0;
  for (const Buffer& buffer : program.buffers)
    if (buffer.kind == Buffer::Kind::external && buffer.storage->born() >= first_inside)
      bytes += block_bytes(buffer.bytes);
  return bytes;
}

}  // namespace plimsoll
