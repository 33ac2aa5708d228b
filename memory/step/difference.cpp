#include "memory/step/difference.h"

#include <cstring>

#include "core/cuda/seam/cuda.h"

namespace plimsoll {
namespace {

bool same_constant(const Storage& a, const Storage& b, Device device) {
  if (&a == &b) return true;
  if (a.bytes() != b.bytes() || device == Device::null) return false;
  const Meta bytes{{a.bytes()}, DType::u8, device};
  std::vector<std::byte> of_a, of_b;
  const View x = on_host({a.data(), bytes, {1}}, of_a), y = on_host({b.data(), bytes, {1}}, of_b);
  return a.bytes() == 0 || std::memcmp(x.data, y.data, static_cast<size_t>(a.bytes())) == 0;
}

bool same_buffer(const Buffer& a, const Buffer& b, Device device) {
  if (a.kind != b.kind || a.bytes != b.bytes) return false;
  return a.kind != Buffer::Kind::external || a.storage == b.storage ||
         (a.storage && b.storage && same_constant(*a.storage, *b.storage, device));
}

// Operands that look in the same way into buffers that are the same.
bool same_operands(const std::vector<Operand>& a, const std::vector<Operand>& b,
                   const Program& before, const Program& now) {
  if (a != b) return false;
  for (const Operand& operand : a)
    if (!same_buffer(before.buffers[operand.buffer], now.buffers[operand.buffer], before.device))
      return false;
  return true;
}

}  // namespace

std::string first_difference(const Program& before, const Program& now) {
  const size_t common = std::min(before.instructions.size(), now.instructions.size());
  for (size_t i = 0; i < common; ++i) {
    const Instruction& a = before.instructions[i];
    const Instruction& b = now.instructions[i];
    const std::string where = cat("instruction ", i, " (", a.op->name, "): ");
    if (a.op != b.op) return cat(where, "it is ", b.op->name, " now");
    if (!(a.attrs == b.attrs)) return where + "its attributes";
    if (!same_operands(a.in, b.in, before, now)) return where + "its inputs";
    if (!same_operands(a.out, b.out, before, now)) return where + "its outputs";
  }
  if (before.instructions.size() != now.instructions.size())
    return cat("the number of instructions: ", before.instructions.size(), " before, ",
               now.instructions.size(), " now");
  return same_operands(before.results, now.results, before, now) ? "" : "the results";
}

}  // namespace plimsoll
