#include "memory/step/replay.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <set>

#include "core/engine/apply.h"
#include "core/ranks/ranks.h"

namespace plimsoll {
namespace {

std::byte* look_into(std::byte* base, const Operand& operand) {
  return base ? base + operand.offset * size_of(operand.meta.dtype) : nullptr;
}

// Eager runs no kernel that has nothing to write, and so does replay.
bool has_work(const Instruction& instruction) {
  return instruction.out.empty() || std::ranges::any_of(instruction.out, [](const Operand& out) {
           return count(out.meta.shape) > 0;
         });
}

// Collectives are in no graph. NCCL before 2.30.4 deadlocks on recorded collectives between
// machines, and all ranks must record the same ones, where each of them decides by addresses of its
// own, and alone, when it goes back to the loop. A program is the same on all ranks.
bool has_collectives(const Program& program) {
  return std::ranges::any_of(program.instructions,
                             [](const Instruction& i) { return i.op->collective != nullptr; });
}

int count_operands(const Program& program) {
  size_t n = program.results.size();
  for (const Instruction& instruction : program.instructions)
    n += instruction.in.size() + instruction.out.size();
  return static_cast<int>(n);
}

}  // namespace

Replay::Replay(const Program& program, const Plan& plan, bool graph)
    : program_(program),
      plan_(plan),
      graph_(graph && is_asynchronous(program.device) && !has_collectives(program)) {
  views_.reserve(count_operands(program));
  bind_kernels();
  results_ = add_views(program.results);
  std::set<int> mutated;
  for (const Instruction& instruction : program.instructions)
    for (size_t k = 0; k < instruction.in.size(); ++k)
      if (has(instruction.op->mutates, static_cast<int>(k)))
        mutated.insert(instruction.in[k].buffer);
  for (const int buffer : mutated)
    if (program.buffers[buffer].kind != Buffer::Kind::temporary) mutated_.push_back(buffer);

  std::vector<int> input_of(program.buffers.size(), -1);
  for (size_t i = 0; i < program.inputs.size(); ++i)
    input_of[program.inputs[i].buffer] = static_cast<int>(i);
  for (size_t v = 0; v < views_.size(); ++v)
    if (const int input = input_of[operands_[v]->buffer]; input >= 0)
      patches_.push_back({input, operands_[v], &views_[v]});
}

void Replay::bind_kernels() {
  for (int i = 0; i < plan_.instructions; ++i) {
    const Instruction& instruction = program_.instructions[i];
    const Kernel kernel = kernel_for(*instruction.op, program_.device);
    if (program_.device == Device::null || !has_work(instruction)) continue;
    const std::span<const View> in = add_views(instruction.in), out = add_views(instruction.out);
    bound_.push_back({kernel, {in, out, instruction.attrs, {}}, i});
  }
}

std::span<const View> Replay::add_views(const std::vector<Operand>& operands) {
  const size_t first = views_.size();
  for (const Operand& operand : operands) {
    views_.push_back({nullptr, operand.meta, operand.strides});
    operands_.push_back(&operand);
  }
  return {views_.data() + first, operands.size()};
}

void Replay::bind(std::byte* arena) {
  recorded_.clear();
  arena_.reset();
  externals_.clear();
  for (const Buffer& buffer : program_.buffers) {
    if (buffer.kind != Buffer::Kind::external) continue;
    check<StateError>(buffer.storage->data() || buffer.bytes == 0,
                      "step: other ranks have parts of a parameter of ", buffer.bytes,
                      " bytes. Use it in the step that trains, or when that is over.");
    externals_.push_back({buffer.storage.get(), buffer.storage->data()});
  }
  arena_ = arena;
  for (size_t v = 0; v < views_.size(); ++v) {
    const Operand& operand = *operands_[v];
    const Buffer& buffer = program_.buffers[operand.buffer];
    const int64_t offset = plan_.offsets[operand.buffer];
    if (buffer.kind == Buffer::Kind::external)
      views_[v].data = look_into(buffer.storage->data(), operand);
    else if (offset != Plan::kNowhere)
      views_[v].data = look_into(arena + offset, operand);
  }
  for (Bound& bound : bound_) {
    const int64_t bytes = program_.instructions[bound.instruction].workspace;
    if (bytes > 0)
      bound.call.workspace = {arena + plan_.workspace_offsets[bound.instruction],
                              static_cast<size_t>(bytes)};
  }
}

bool Replay::is_bound_to(const std::byte* arena) const {
  const auto is_there = [](const External& e) { return e.storage->data() == e.data; };
  return arena_ == arena && std::ranges::all_of(externals_, is_there);
}

void Replay::patch_inputs(std::span<const Tensor> inputs) {
  for (const Patch& patch : patches_)
    patch.view->data = look_into(static_cast<std::byte*>(view_of(inputs[patch.input].value()).data),
                                 *patch.operand);
}

// As apply() does: whoever saved such a value before this run must not read it afterwards.
void Replay::note_mutations(std::span<const Tensor> inputs) {
  for (const int buffer : mutated_) {
    if (const auto& storage = program_.buffers[buffer].storage) storage->bump_version();
    for (size_t i = 0; i < inputs.size(); ++i)
      if (program_.inputs[i].buffer == buffer) inputs[i].value().storage->bump_version();
  }
}

void Replay::run_checked() {
  for (const Bound& bound : bound_) {
    bound.kernel(bound.call);
    check_written(*program_.instructions[bound.instruction].op, bound.call);
  }
}

void Replay::run_calls() const {
  for (const Bound& bound : bound_) bound.kernel(bound.call);
}

void Replay::run_as_graph(std::span<const Tensor> inputs) {
  std::vector<const void*> addresses;
  for (const Tensor& input : inputs) addresses.push_back(view_of(input.value()).data);
  const auto known = std::ranges::find(recorded_, addresses, &Recorded::inputs);
  if (known == recorded_.end()) {
    run_calls();  // it makes what cannot be made while recording: plans of libraries, modules
    recorded_.insert(recorded_.begin(), {std::move(addresses), {}});
    if (recorded_.size() > kGraphs) recorded_.pop_back();
    return;
  }
  std::rotate(recorded_.begin(), known, known + 1);
  try {
    CudaGraph& graph = recorded_.front().graph;
    if (!graph) graph = cuda_queue().record([this] { run_calls(); });
    cuda_queue().launch(graph);
  } catch (const DeviceError& error) {  // a first launch also takes memory
    graph_ = false;                     // so it is said once
    recorded_.clear();
    std::fprintf(stderr, "step: it runs kernel by kernel, not as one graph: %s\n", error.what());
    run_calls();
  }
}

// The planner knows which instruction writes into which buffer; that two buffers are one it cannot
// know.
void Replay::check_shared(std::span<const Tensor> inputs) const {
  for (const int buffer : mutated_) {
    const auto given = std::ranges::find(program_.inputs, buffer, &Operand::buffer);
    const Tensor* const input =
        given != program_.inputs.end() ? &inputs[given - program_.inputs.begin()] : nullptr;
    if (input && input->count() == 0) continue;
    const Storage* const written =
        input ? input->value().storage->base() : program_.buffers[buffer].storage.get();
    for (size_t i = 0; i < inputs.size(); ++i)
      check<StateError>(program_.inputs[i].buffer == buffer || inputs[i].count() == 0 ||
                            inputs[i].value().storage->base() != written,
                        "step: input ", i,
                        " shares its memory with what the step writes in place: ", inputs[i].meta(),
                        ". Pass a copy.");
    const auto is_written = [&](const Buffer& b) { return b.storage.get() == written; };
    check<StateError>(!input || std::ranges::none_of(program_.buffers, is_written), "step: input ",
                      given - program_.inputs.begin(),
                      ", which the step writes in place, shares its memory with a tensor that it "
                      "reads besides its inputs. Pass a copy.");
  }
}

void Replay::prepare(std::span<const Tensor> inputs) {
  patch_inputs(inputs);
  note_mutations(inputs);
}

std::vector<double> Replay::seconds_of_each(std::span<const Tensor> inputs) {
  check_shared(inputs);
  prepare(inputs);
  const auto wait = [&] { synchronize(program_.device); };
  std::vector<double> seconds(program_.instructions.size());
  wait();
  for (const Bound& bound : bound_) {
    const auto start = std::chrono::steady_clock::now();
    bound.kernel(bound.call);
    wait();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    seconds[static_cast<size_t>(bound.instruction)] = took.count();
  }
  return seconds;
}

std::vector<Tensor> Replay::run(std::span<const Tensor> inputs) {
  check_shared(inputs);
  std::vector<Tensor> fresh;
  for (const Operand& result : program_.results)
    fresh.push_back(Tensor::empty(result.meta, "step"));
  prepare(inputs);
  try {
    if (apply_mode().check_finite)
      run_checked();
    else if (graph_)
      run_as_graph(inputs);
    else
      run_calls();
  } catch (...) {  // what is on its way to other ranks is still read and written
    if (Ranks* const ranks = Ranks::current()) ranks->wait_all();
    throw;
  }
  for (size_t r = 0; r < fresh.size(); ++r) copy_view(results_[r], view_of(fresh[r].value()));
  return fresh;
}

}  // namespace plimsoll
