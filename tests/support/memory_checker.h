// Executes a planned program granule by granule, knowing nothing of how plans are made. Every
// granule of the arena remembers which value was written there last: a value that is read must
// still own all of its granules. With kernels, what nobody will read again is overwritten with NaN
// after each instruction.
#pragma once

#include <map>

#include "memory/layout/plan.h"
#include "tests/support/memory_ops.h"

namespace plimsoll::memory_test {

class Checker {
 public:
  Checker(const Program& program, const Plan& plan)
      : program_(program),
        plan_(plan),
        owner_(static_cast<size_t>(plan.arena_bytes / kGranule), -1) {
    for (int i = 0; i < plan.instructions; ++i)
      for (const Operand& in : program.instructions[i].in) last_read_[in.buffer] = i;
    for (const Operand& result : program.results) last_read_[result.buffer] = plan.instructions;
  }

  // Follows ownership through the program; ADD_FAILUREs on the first wrong byte.
  void check() {
    for (int i = 0; i < plan_.instructions && !testing::Test::HasFailure(); ++i) step(i);
    for (const Operand& result : program_.results) expect_owned(result.buffer, plan_.instructions);
  }

  // The same with kernels on poisoned memory; returns the results' elements.
  std::vector<std::vector<float>> run(std::span<const Tensor> inputs) {
    for (size_t i = 0; i < inputs.size(); ++i)
      input_bytes_[program_.inputs[i].buffer] =
          reinterpret_cast<std::byte*>(inputs[i].data<float>());
    arena_ = Tensor::empty({{plan_.arena_bytes}, DType::u8, Device::cpu});
    poison();
    for (int i = 0; i < plan_.instructions; ++i) {
      step(i);
      execute(program_.instructions[i], plan_.workspace_offsets[i]);
      for (int& owner : owner_)
        if (owner >= 0 && !(last_read_.contains(owner) && last_read_[owner] > i)) owner = -1;
      poison();
    }
    std::vector<std::vector<float>> results;
    for (const Operand& result : program_.results) {
      const View view = look(result);
      results.emplace_back();
      for (int64_t k = 0; k < count(view.shape()); ++k)
        results.back().push_back(view.as<float>()[k * view.strides[0]]);
    }
    return results;
  }

 private:
  struct Range {
    int64_t begin, end;
  };
  Range range(int64_t offset, int64_t bytes) const {
    if (bytes == 0) return {0, 0};
    EXPECT_GE(offset, 0);
    EXPECT_EQ(offset % kGranule, 0);
    EXPECT_LE(offset + block_bytes(bytes), plan_.arena_bytes);
    return {offset / kGranule, (offset + block_bytes(bytes)) / kGranule};
  }
  Range range_of(int buffer) const {
    if (program_.buffers[buffer].kind != Buffer::Kind::temporary) return {0, 0};
    return range(plan_.offsets[buffer], program_.buffers[buffer].bytes);
  }

  void expect_owned(int buffer, int instant) const {
    const auto [begin, end] = range_of(buffer);
    for (int64_t g = begin; g < end; ++g)
      if (owner_[g] != buffer) {
        ADD_FAILURE() << "buffer " << buffer << " is read at " << instant << " but granule " << g
                      << " belongs to " << owner_[g];
        return;
      }
  }

  void step(int i) {
    const Instruction& instruction = program_.instructions[i];
    for (const Operand& in : instruction.in) expect_owned(in.buffer, i);
    const Range scratch = range(plan_.workspace_offsets[i], instruction.workspace);
    std::map<int64_t, int> written;  // granule -> who writes it in this instruction
    for (int64_t g = scratch.begin; g < scratch.end; ++g) written[g] = -2;
    for (const Operand& out : instruction.out) {
      const auto [begin, end] = range_of(out.buffer);
      for (int64_t g = begin; g < end; ++g)
        EXPECT_TRUE(written.try_emplace(g, out.buffer).second) << "written twice at " << i;
    }
    for (size_t k = 0; k < instruction.in.size(); ++k) {
      const auto [begin, end] = range_of(instruction.in[k].buffer);
      const bool may_share = static_cast<int>(k) == instruction.op->inplace;
      for (int64_t g = begin; g < end; ++g)
        if (const auto hit = written.find(g); hit != written.end()) {
          EXPECT_TRUE(may_share && hit->second == instruction.out[0].buffer &&
                      plan_.offsets[hit->second] == plan_.offsets[instruction.in[k].buffer])
              << "input " << k << " of instruction " << i << " is overwritten while it is read";
        }
    }
    for (const auto& [granule, buffer] : written) owner_[granule] = buffer;
  }

  View look(const Operand& operand) const {
    const Buffer& buffer = program_.buffers[operand.buffer];
    std::byte* base = buffer.kind == Buffer::Kind::external ? buffer.storage->data()
                      : buffer.kind == Buffer::Kind::input
                          ? input_bytes_.at(operand.buffer)
                          : arena() + plan_.offsets[operand.buffer];
    return {base + operand.offset * 4, operand.meta, operand.strides};
  }

  void execute(const Instruction& instruction, int64_t scratch) {
    std::vector<View> in, out;
    for (const Operand& operand : instruction.in) in.push_back(look(operand));
    for (const Operand& operand : instruction.out) out.push_back(look(operand));
    std::span<std::byte> workspace;
    if (instruction.workspace > 0)
      workspace = {arena() + scratch, static_cast<size_t>(instruction.workspace)};
    instruction.op->cpu({in, out, instruction.attrs, workspace});
  }

  std::byte* arena() const { return reinterpret_cast<std::byte*>(arena_.data<uint8_t>()); }
  void poison() {
    for (size_t g = 0; g < owner_.size(); ++g)
      if (owner_[g] < 0) std::memset(arena() + static_cast<int64_t>(g) * kGranule, 0xff, kGranule);
  }

  const Program& program_;
  const Plan& plan_;
  std::vector<int> owner_;  // of each granule: a buffer, -1 nobody, -2 scratch
  std::map<int, int> last_read_;
  std::map<int, std::byte*> input_bytes_;
  Tensor arena_;
};

}  // namespace plimsoll::memory_test
