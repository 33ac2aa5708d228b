#include "train/ranks/facts.h"

#include "core/base/hash.h"
#include "core/cpu/gemm/bfloat16.h"
#include "core/cpu/level.h"
#include "core/cuda/seam/cuda.h"
#include "data/file.h"
#include "train/training_step.h"

namespace plimsoll::train {
namespace {

uint64_t hash_of_file(const std::string& path) {
  try {
    const data::Bytes bytes = data::read_file(path);
    return fnv1a(std::as_bytes(std::span(bytes)));
  } catch (const DataError&) {
    return 0;  // it cannot be read: then nothing is known of it
  }
}

uint64_t hash_of(const std::vector<NamedTensor>& tensors, uint64_t hash) {
  for (const auto& [name, tensor] : tensors) {
    std::vector<std::byte> copy;
    const View view = on_host(view_of(tensor.value()), copy);
    const auto bytes = static_cast<size_t>(bytes_of(view.meta));
    hash = fnv1a(std::span(view.as<const std::byte>(), bytes), fnv1a(name, hash));
  }
  return hash;
}

std::string way_of_bfloat16(const TrainOptions& options) {
  if (options.precision != Precision::bf16) return "not at all";
  return name_of(bfloat16_products());
}

// Rates of some updates: functions cannot be compared.
std::string rates_of(const optim::Schedule& schedule, int64_t updates) {
  if (!schedule) return "none";
  uint64_t hash = kFnvStart;
  for (int64_t update = 0; update < updates; update += 1 + update / 8)
    hash = fnv1a(cat(schedule(update), " "), hash);
  return cat(hash);
}

// Ops, types, sizes and places of all instructions; not attributes, which options say, nor places
// in what lies outside, as in parameters, of which each rank owns another part.
uint64_t hash_of(const Program& program) {
  uint64_t hash = fnv1a(cat(program.buffers.size(), program.inputs.size(), program.results.size()));
  for (const Instruction& instruction : program.instructions) {
    hash = fnv1a(instruction.op->name, hash);
    for (const auto* operands : {&instruction.in, &instruction.out})
      for (const Operand& operand : *operands)
        hash = fnv1a(cat(operand.buffer, " ", operand.meta, " ",
                         program.buffers[operand.buffer].kind == Buffer::Kind::external
                             ? int64_t{0}  // ranks own different parts
                             : operand.offset,
                         ";"),
                     hash);
  }
  return hash;
}

}  // namespace

std::string weights_of(const nn::Module& model) {
  return cat(hash_of(model.named_buffers(), hash_of(model.named_parameters(), kFnvStart)));
}

Facts facts_of(const TrainOptions& options, const std::vector<Program>& programs, int64_t updates) {
  Facts facts{{"the program's file", cat(hash_of_file("/proc/self/exe"))},
              {"the engine's file", cat(hash_of_file(engine_file()))},
              {"the level of the processor", cpu_level()},
              {"how bf16 is multiplied (PLIMSOLL_BF16)", way_of_bfloat16(options)},
              {"the number of ranks", cat(options.ranks)},
              {"the seed", cat(options.seed)},
              {"how long they train",
               cat(options.epochs, " epochs, ", options.steps, " steps, ", options.stop_after)},
              {"when they evaluate", cat(options.evaluate_every, " ", options.patience)},
              {"precision", name_of(options.precision)},
              {"loss scale", loss_scale_of(options)},
              {"accumulate", cat(options.accumulate)},
              {"the stage of sharding", cat(options.shard)},
              {"clipping", cat(options.clip_norm)},
              {"learning rates", rates_of(options.schedule, updates)},
              {"pruning", cat(options.prune)},
              {"mode", options.captured ? "captured" : "eager"},
              {"find_nan", cat(options.find_nan)},
              {"histograms", cat(options.histograms)}};
  for (const auto* some : {&options.same, &options.noted})
    for (const auto& [name, value] : *some) facts.emplace_back("option " + name, value);
  uint64_t hash = kFnvStart;
  for (const Program& program : programs) hash = fnv1a(cat(hash_of(program)), hash);
  facts.emplace_back("their captured programs", cat(hash));
  return facts;
}

}  // namespace plimsoll::train
