#include "core/engine/trace.h"

#include "core/engine/apply.h"
#include "core/engine/operands.h"

namespace plimsoll {
namespace {

uint64_t next_id() {
  static std::atomic<uint64_t> last = 0;
  return ++last;
}

}  // namespace

Trace* Trace::current() { return thread_state().trace; }

Trace::Trace(std::span<const Meta> inputs) : id_(next_id()) {
  check<StateError>(!current(),
                    "capture: a step is already being captured on this thread. "
                    "Capture one step at a time.");
  check<StateError>(!apply_mode().recomputing,
                    "capture: a checkpoint is being recomputed, where ops that write in place are "
                    "left out. Do not run a Step inside a checkpoint.");
  for (const Meta& meta : inputs) {
    program_.device = meta.device;
    inputs_.emplace_back(add_buffer(meta, Buffer::Kind::input, MemoryClass::input));
    program_.inputs.push_back(operand(inputs_.back().value()));
  }
  thread_state().trace = this;
}

Trace::~Trace() {
  for (const Mutated& m : mutated_) m.storage->restore_version(m.version);
  thread_state().trace = nullptr;
}

void Trace::mutate(const std::shared_ptr<Storage>& storage, const char* op) {
  check<StateError>(storage->born() < first_inside_, op,
                    ": a tensor made inside a captured step is written in place: ",
                    storage->bytes(), " bytes. Make it outside, so that it is one tensor.");
  if (!outdated(*storage)) mutated_.push_back({storage, storage->version()});
}

bool Trace::outdated(const Storage& storage) const {
  for (const Mutated& m : mutated_)
    if (m.storage->base() == storage.base()) return true;
  return false;
}

Value Trace::add_buffer(const Meta& meta, Buffer::Kind kind, MemoryClass memory_class) {
  const int number = static_cast<int>(program_.buffers.size());
  const int64_t bytes = bytes_of(meta);
  program_.buffers.push_back({.kind = kind, .bytes = bytes, .memory_class = memory_class});
  return {meta, row_major(meta.shape), 0, Storage::symbolic(id_, number, bytes)};
}

Operand Trace::operand(const Value& value) {
  const auto& place = value.storage->whole() ? value.storage->whole() : value.storage;
  const Storage& storage = *place;
  check<StateError>(!storage.is_symbolic() || storage.trace() == id_,
                    "capture: a tensor belongs to a captured step that has ended: ", value.meta,
                    ". Return it from that step instead.");
  int buffer = storage.buffer();
  if (!storage.is_symbolic()) {  // a real tensor from outside: pinned, found again by its storage
    const auto [entry, is_new] =
        externals_.try_emplace(&storage, static_cast<int>(program_.buffers.size()));
    if (is_new)
      program_.buffers.push_back(
          {Buffer::Kind::external, storage.bytes(), storage.memory_class(), place});
    buffer = entry->second;
  }
  return {buffer, value.meta, value.strides,
          value.offset + value.storage->begin() / size_of(value.meta.dtype)};
}

std::vector<Value> Trace::append(const OpDef& op, const Attrs& attrs, std::span<const Tensor> in,
                                 const Metas& out) {
  Instruction instruction{.op = &op, .attrs = attrs, .module = current_module()};
  for (const Tensor& tensor : in) {
    instruction.in.push_back(operand(tensor.value()));
    program_.device = tensor.device();
  }
  std::vector<Value> values;
  for (const Meta& meta : out) {
    values.push_back(add_buffer(meta, Buffer::Kind::temporary, MemoryScope::current()));
    instruction.out.push_back(operand(values.back()));
    program_.device = meta.device;
  }
  program_.instructions.push_back(std::move(instruction));
  return values;
}

void Trace::set_memory_class(int buffer, MemoryClass memory_class) {
  program_.buffers[buffer].memory_class = memory_class;
}

Program Trace::finish(std::span<const Tensor> results) {
  for (const Tensor& tensor : results) {
    check<StateError>(tensor.defined(),
                      "capture: the step returned an undefined tensor. "
                      "Return only tensors that were computed.");
    program_.results.push_back(operand(tensor.value()));
  }
  for (Instruction& instruction : program_.instructions)
    instruction.workspace = workspace_of(instruction);
  return std::move(program_);
}

Program capture(const StepFunction& step, std::span<const Meta> inputs) {
  Trace trace(inputs);
  const std::vector<Tensor> results = step(trace.inputs());
  return trace.finish(results);
}

}  // namespace plimsoll
