// Which plan cuDNN runs a graph by: asked of its heuristics, timed where that is wanted, and kept.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <shared_mutex>

#include "core/autotune.h"
#include "core/cache.h"
#include "core/cuda/graph_cudnn.h"
#include "core/storage.h"

namespace plimsoll::cuda {
namespace {

// What plans of one graph are asked from and made with.
class Search {
 public:
  Search(const Graph& graph, const Target& target) : graph_(graph) {
    if (target.description.empty()) {
      handle_.emplace();
    } else {
      device_ = std::make_unique<Descriptor>(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
      device_->set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                   static_cast<int64_t>(target.description.size()), target.description.data());
      device_->finalize("the description of a device");
    }
    const auto operations = graph.operations();
    operations_.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                    std::ssize(operations), operations.data());
    set_handle(operations_, CUDNN_ATTR_OPERATIONGRAPH_HANDLE);
  }

  // False: cuDNN knows no such operation.
  bool start() { return operations_.finalize() == CUDNN_STATUS_SUCCESS; }

  // The configurations that a heuristic proposes, best first.
  std::vector<std::unique_ptr<Descriptor>> proposals(cudnnBackendHeurMode_t mode) const {
    Descriptor heuristic(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, operations_);
    heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
    if (device_) heuristic.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *device_);
    std::vector<std::unique_ptr<Descriptor>> found;
    if (heuristic.finalize() != CUDNN_STATUS_SUCCESS) return found;
    const int64_t n =
        heuristic.get(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, nullptr);
    std::vector<cudnnBackendDescriptor_t> raw;
    for (int64_t i = 0; i < n; ++i) {
      found.push_back(std::make_unique<Descriptor>(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
      raw.push_back(found.back()->raw());
    }
    const int64_t filled =
        heuristic.get(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, n, raw.data());
    found.resize(static_cast<size_t>(std::min(n, filled)));
    return found;
  }

  std::optional<Plan> plan_of(const Descriptor& configuration, int64_t engine) const {
    auto made = empty_plan();
    made->set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
    int64_t workspace = 0;
    const cudnnStatus_t status = made->finalize();
    if (status == CUDNN_STATUS_SUCCESS)
      made->get(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &workspace);
    else if (device_ && status == CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER)
      // Compiled for the device that is described; to load it there would have to be one.
      configuration.get(CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &workspace);
    else
      return std::nullopt;
    return finished(std::move(made), engine, workspace);
  }

  // One that was written by contents_of() before; nothing when cuDNN does not take it.
  std::optional<Plan> plan_of(const std::string& json, int64_t engine) const {
    auto made = empty_plan();
    int64_t workspace = 0;
    try {
      made->set(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, std::ssize(json),
                json.data());
      made->finalize("a cuDNN plan");
      made->get(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &workspace);
    } catch (const DeviceError&) {
      return std::nullopt;
    }
    return finished(std::move(made), engine, workspace);
  }

 private:
  std::unique_ptr<Descriptor> empty_plan() const {
    auto made = std::make_unique<Descriptor>(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    set_handle(*made, CUDNN_ATTR_EXECUTION_PLAN_HANDLE);
    if (device_) made->set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, *device_);
    return made;
  }
  Plan finished(std::unique_ptr<Descriptor> made, int64_t engine, int64_t workspace) const {
    if (workspace > 0) workspace += kWorkspaceBoundary;
    const auto numbers = graph_.numbers();
    return {std::move(made), {numbers.begin(), numbers.end()}, engine, workspace};
  }

  void set_handle(Descriptor& of, cudnnBackendAttributeName_t name) const {
    if (!handle_) return;
    const cudnnHandle_t raw = handle_->raw();
    of.set(name, CUDNN_TYPE_HANDLE, 1, &raw);
  }

  const Graph& graph_;
  std::optional<Handle> handle_;  // nothing: the device is described
  std::unique_ptr<Descriptor> device_;
  Descriptor operations_{CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR};
};

bool acceptable(const Descriptor& engine, Rounding rounding) {
  std::vector<cudnnBackendNumericalNote_t> notes(CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
  notes.resize(
      static_cast<size_t>(engine.get(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                     std::ssize(notes), notes.data())));
  return std::ranges::none_of(notes, [&](cudnnBackendNumericalNote_t note) {
    switch (note) {
      case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
      case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION:
        return true;
      case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:  // they know f32 only as TF32
        return rounding == Rounding::none;
      case CUDNN_NUMERICAL_NOTE_FFT:  // cancels, as the next one
      case CUDNN_NUMERICAL_NOTE_WINOGRAD:
      case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS:  // to 16 bits
        return rounding != Rounding::any;
      default:
        return false;
    }
  });
}

// The first `most` plans that will do, as the heuristics order them.
std::vector<Plan> candidates(Search& search, Rounding rounding, int64_t limit, size_t most) {
  std::vector<Plan> found;
  if (!search.start()) return found;
  for (const auto mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK})
    for (const auto& configuration : search.proposals(mode)) {
      const Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
      cudnnBackendDescriptor_t raw = engine.raw();
      configuration->get(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw);
      if (!acceptable(engine, rounding)) continue;
      int64_t index = 0;
      engine.get(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &index);
      auto plan = search.plan_of(*configuration, index);
      if (!plan || plan->workspace > limit) continue;
      found.push_back(*std::move(plan));
      if (found.size() == most) return found;
    }
  return found;
}

struct NotKept {};  // thrown where there is nothing to keep

// Of a file: the number of the engine, a line, and cuDNN's own text.
CachedBytes contents_of(const Plan& plan) {
  constexpr auto attribute = CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION;
  std::string json;
  try {
    json.resize(static_cast<size_t>(plan.descriptor->get(attribute, CUDNN_TYPE_CHAR, 0, nullptr)));
    json.resize(static_cast<size_t>(
        plan.descriptor->get(attribute, CUDNN_TYPE_CHAR, std::ssize(json), json.data())));
  } catch (const DeviceError&) {
    throw NotKept();
  }
  const std::string text = cat(plan.engine, "\n", json);
  return {text.begin(), text.end()};
}

std::optional<Plan> plan_in(const CachedBytes& contents, const Search& search) {
  const auto end_of_line = std::ranges::find(contents, '\n');
  int64_t engine = 0;
  const std::string number(contents.begin(), end_of_line);
  std::from_chars(number.data(), number.data() + number.size(), engine);
  if (end_of_line == contents.end()) return std::nullopt;
  return search.plan_of(std::string(end_of_line + 1, contents.end()), engine);
}

// What a plan depends on.
std::string device_of(const Target& target) {
  return target.description.empty() ? device_identity() : target.description;
}

// Held by all who build plans, alone by who times some: to load a kernel disturbs those that run.
std::shared_mutex quiet;

// The largest workspace that can be had, of those that candidates ask for.
std::shared_ptr<Storage> largest_workspace(std::span<const Plan> candidates) {
  std::vector<int64_t> sizes{0};
  for (const Plan& plan : candidates) sizes.push_back(plan.workspace);
  std::ranges::sort(sizes, std::greater());
  for (const int64_t bytes : sizes) try {
      return Storage::allocate(Device::cuda, bytes, MemoryClass::workspace, "autotune");
    } catch (const OutOfMemory&) {  // a smaller one
    }
  return nullptr;
}

}  // namespace

Times time_on_device(const Graph& graph, std::span<const Plan> candidates) try {
  const std::unique_lock alone(quiet);
  std::vector<std::shared_ptr<Storage>> blocks;
  std::vector<void*> tensors;
  for (const int64_t bytes : graph.bytes()) {
    blocks.push_back(Storage::allocate(Device::cuda, bytes, MemoryClass::workspace, "autotune"));
    tensors.push_back(blocks.back()->data());
    fill_noise(tensors.back(), bytes);
  }
  const auto usual = graph.usual_values();
  std::vector<float> values(usual.begin(), usual.end());
  std::vector<void*> all = tensors;
  for (float& value : values) all.push_back(&value);
  const auto block = largest_workspace(candidates);
  const std::span<std::byte> workspace(block->data(), static_cast<size_t>(block->bytes()));
  return time_candidates(candidates.size(), [&](size_t i) {
    check<DeviceError>(can_execute(&candidates[i], tensors, workspace),
                       "autotune: an algorithm needs more workspace than there is: ",
                       candidates[i].workspace, " bytes. Allow more memory.");
    execute(candidates[i], all, workspace);
  });
} catch (const OutOfMemory& error) {
  static std::once_flag said;
  std::call_once(said, [&] {
    std::fprintf(stderr, "%s What does not fit is not timed: cuDNN's first choice is taken.\n",
                 error.what());
  });
  return Times(candidates.size());
}

Clock device_clock() { return autotune() ? time_on_device : Clock(); }

Clock clock_of(const PlanClock& clock) {
  if (!clock) return {};
  return [clock](const Graph&, std::span<const Plan> candidates) {
    std::vector<LibraryPlan> summaries;
    for (const Plan& plan : candidates) summaries.push_back(*summary(&plan));
    return clock(summaries);
  };
}

std::string plan_library() {
  return cudnn_usable() ? cat("cuDNN ", cudnn().cudnnGetVersion()) : "";
}

// Of the code that makes graphs, names them and chooses among their plans: a kept plan knows
// tensors by the order in which the graph was built. To be raised with every change there.
constexpr const char* kGraphs = "graphs 1";

std::optional<Plan> best_plan(const Graph& graph, const std::string& name, const Target& target,
                              Rounding rounding, int64_t limit) {
  std::shared_lock building(quiet);
  Search search(graph, target);
  std::optional<Plan> plan;
  const auto make = [&] {
    std::vector<Plan> found =
        candidates(search, rounding, limit, target.clock ? kMostCandidates : 1);
    if (found.empty()) throw NotKept();
    std::optional<size_t> choice = 0;
    if (found.size() > 1) {
      building.unlock();
      choice = fastest(target.clock(graph, found));
      building.lock();
    }
    plan = std::move(found[choice.value_or(0)]);
    return choice ? contents_of(*plan) : throw NotKept();
  };
  const auto usable = [&](const CachedBytes& contents) {
    plan = plan_in(contents, search);
    return plan.has_value();
  };
  const std::string timed = target.clock ? cat(" fastest of ", kMostCandidates) : "";
  const std::filesystem::path folder = cache_folder();
  try {
    if (folder.empty())
      make();
    else
      cached_file(folder,
                  {kGraphs, plan_library(), device_of(target), name,
                   cat(static_cast<int>(rounding), " ", limit, timed)},
                  make, usable);
  } catch (const NotKept&) {
  }
  return plan;
}

}  // namespace plimsoll::cuda
