// Trace: while one exists on a thread, apply() appends to its Program instead of running.
//
//   Program p = capture([&](std::span<const Tensor> in) { return std::vector{relu(in[0])}; },
//                       std::array{Meta{{32, 10}}});
#pragma once

#include <functional>
#include <unordered_map>

#include "core/engine/program.h"
#include "core/tensor/tensor.h"

namespace plimsoll {

using StepFunction = std::function<std::vector<Tensor>(std::span<const Tensor>)>;

// Runs `step` once on abstract tensors of these metas. Nothing is allocated and no kernel runs.
// StateError when the step reads a value that is not known yet, writes one from the host, or is
// captured while a checkpoint recomputes. An error leaves nothing behind.
Program capture(const StepFunction& step, std::span<const Meta> inputs);

class Trace {
 public:
  explicit Trace(std::span<const Meta> inputs);
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  static Trace* current();  // of this thread; nullptr: eager

  const std::vector<Tensor>& inputs() const { return inputs_; }
  // Appends one instruction and returns its symbolic outputs.
  std::vector<Value> append(const OpDef& op, const Attrs& attrs, std::span<const Tensor> in,
                            const Metas& out);
  void set_memory_class(int buffer, MemoryClass memory_class);
  // An instruction writes into this real storage at replay. Its version counts for the rest of the
  // capture and is put back at the end. StateError for one that was made inside the step: it would
  // be made once and keep its changes from replay to replay.
  void mutate(const std::shared_ptr<Storage>& storage, const char* op);
  // True when the bytes of this storage would be other ones by now, had the step been run.
  bool outdated(const Storage& storage) const;
  uint64_t id() const { return id_; }
  Program finish(std::span<const Tensor> results);

 private:
  Operand operand(const Value& value);
  Value add_buffer(const Meta& meta, Buffer::Kind kind, MemoryClass memory_class);

  uint64_t id_;
  uint64_t first_inside_ = Storage::next_born();  // storages from this number on are the step's own
  Program program_;
  std::vector<Tensor> inputs_;
  std::unordered_map<const Storage*, int> externals_;
  struct Mutated {
    std::shared_ptr<Storage> storage;
    uint32_t version;  // before the capture
  };
  std::vector<Mutated> mutated_;
};

}  // namespace plimsoll
