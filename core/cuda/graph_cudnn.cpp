#include "core/cuda/graph_cudnn.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <mutex>

#include "core/cache.h"
#include "core/cuda/runtime.h"

namespace plimsoll::cuda {
namespace {

cudnnHandle_t handle() {
  static const cudnnHandle_t made = [] {
    stream();
    cudnnHandle_t result = nullptr;
    cudnn().run(cudnn().cudnnCreate(&result), "cudnnCreate");
    return result;
  }();
  return made;
}

// Of what plans work in. Workspaces lie on smaller ones, so plans ask for as much more.
constexpr int64_t kBoundary = 256;

// What plans of one graph are asked from and made with.
class Search {
 public:
  Search(const Graph& graph, const Target& target)
      : graph_(graph), handle_(target.description.empty() ? handle() : nullptr) {
    if (!handle_) {
      device_ = std::make_unique<Descriptor>(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
      device_->set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                   static_cast<int64_t>(target.description.size()), target.description.data());
      device_->finalize("the description of a device");
    }
    const auto operations = graph.operations();
    operations_.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                    std::ssize(operations), operations.data());
    if (handle_) operations_.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle_);
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
    if (handle_) made->set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle_);
    if (device_) made->set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, *device_);
    return made;
  }
  Plan finished(std::unique_ptr<Descriptor> made, int64_t engine, int64_t workspace) const {
    if (workspace > 0) workspace += kBoundary;
    const auto numbers = graph_.numbers();
    return {std::move(made), {numbers.begin(), numbers.end()}, engine, workspace};
  }

  const Graph& graph_;
  cudnnHandle_t handle_;
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

std::optional<Plan> searched(Search& search, Rounding rounding, int64_t limit) {
  if (!search.start()) return std::nullopt;
  for (const auto mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK})
    for (const auto& configuration : search.proposals(mode)) {
      const Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
      cudnnBackendDescriptor_t raw = engine.raw();
      configuration->get(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw);
      if (!acceptable(engine, rounding)) continue;
      int64_t index = 0;
      engine.get(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &index);
      auto plan = search.plan_of(*configuration, index);
      if (plan && plan->workspace <= limit) return plan;
    }
  return std::nullopt;
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

// What a plan depends on: not only the name, as a part of a device may be lent.
std::string device_name(const Target& target) {
  if (!target.description.empty()) return target.description;
  const cudaDeviceProp& p = device_properties();
  return cat(p.name, " ", p.major, ".", p.minor, " ", p.multiProcessorCount, " ",
             p.sharedMemPerBlockOptin, " ", p.l2CacheSize);
}

}  // namespace

Cudnn::Cudnn() {
  check<DeviceError>(cudnnGetVersion() / 10000 == 9, "cuda: cuDNN 9 is needed: found ",
                     cudnnGetVersion(), ". Install it (pip install nvidia-cudnn-cu13).");
}

void Cudnn::run(cudnnStatus_t status, const char* call) const {
  if (status == CUDNN_STATUS_SUCCESS) return;
  char why[512] = "";
  cudnnGetLastErrorString(why, sizeof why);
  fail<DeviceError>("cuda: ", call, " failed: ", cudnnGetErrorString(status), " ", why,
                    ". PLIMSOLL_CUDA_LIBRARIES=none does without cuDNN.");
}

const Cudnn& cudnn() {
  static const Cudnn opened;
  return opened;
}

bool cudnn_usable() {
  static const bool usable = [] {
    if (libraries_forbidden()) return false;
    try {
      cudnn();
      return true;
    } catch (const DeviceError& error) {
      report_missing(error.what());
      return false;
    }
  }();
  return usable;
}

Descriptor::Descriptor(cudnnBackendDescriptorType_t type) {
  cudnn().run(cudnn().cudnnBackendCreateDescriptor(type, &handle_), "cudnnBackendCreateDescriptor");
}

void Descriptor::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t n,
                     const void* values) {
  cudnn().run(cudnn().cudnnBackendSetAttribute(handle_, name, type, n, values),
              "cudnnBackendSetAttribute");
}
void Descriptor::set(cudnnBackendAttributeName_t name, std::span<const int64_t> values) {
  set(name, CUDNN_TYPE_INT64, std::ssize(values), values.data());
}
void Descriptor::set(cudnnBackendAttributeName_t name, const Descriptor& other) {
  set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &other.handle_);
}
void Descriptor::set(cudnnBackendAttributeName_t name, cudnnDataType_t type) {
  set(name, CUDNN_TYPE_DATA_TYPE, 1, &type);
}
void Descriptor::finalize(const char* what) {
  cudnn().run(cudnn().cudnnBackendFinalize(handle_), what);
}
cudnnStatus_t Descriptor::finalize() { return cudnn().cudnnBackendFinalize(handle_); }
int64_t Descriptor::get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                        int64_t n, void* values) const {
  int64_t count = 0;
  cudnn().run(cudnn().cudnnBackendGetAttribute(handle_, name, type, n, &count, values),
              "cudnnBackendGetAttribute");
  return count;
}

const Descriptor& Graph::tensor(std::span<const int64_t> sizes, std::span<const int64_t> strides,
                                cudnnDataType_t type, Place place) {
  const int64_t number = next_++;
  if (place != kVirtual) numbers_.push_back(number);
  return part(CUDNN_BACKEND_TENSOR_DESCRIPTOR, [&](Descriptor& t) {
    t.set(CUDNN_ATTR_TENSOR_DATA_TYPE, type);
    t.set(CUDNN_ATTR_TENSOR_DIMENSIONS, sizes);
    t.set(CUDNN_ATTR_TENSOR_STRIDES, strides);
    t.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, number);
    t.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, int64_t{16});
    if (place == kVirtual) t.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, true);
    if (place == kValue) t.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, true);
  });
}

// Of the code that makes graphs, names them and chooses among their plans: a kept plan knows
// tensors by the order in which the graph was built. To be raised with every change there.
constexpr const char* kGraphs = "graphs 1";

std::optional<Plan> best_plan(const Graph& graph, const std::string& name, const Target& target,
                              Rounding rounding, int64_t limit) {
  Search search(graph, target);
  const std::filesystem::path folder = cache_folder();
  if (folder.empty()) return searched(search, rounding, limit);
  std::optional<Plan> plan;
  const auto make = [&] {
    plan = searched(search, rounding, limit);
    return plan ? contents_of(*plan) : throw NotKept();
  };
  const auto usable = [&](const CachedBytes& contents) {
    plan = plan_in(contents, search);
    return plan.has_value();
  };
  try {
    cached_file(folder,
                {kGraphs, cat("cuDNN ", cudnn().cudnnGetVersion()), device_name(target), name,
                 cat(static_cast<int>(rounding), " ", limit)},
                make, usable);
  } catch (const NotKept&) {
  }
  return plan;
}

bool can_execute(const Plan* plan, std::span<void* const> tensors, std::span<std::byte> workspace) {
  const auto aligned = [](const void* p) { return reinterpret_cast<uintptr_t>(p) % 16 == 0; };
  return plan && plan->workspace <= std::ssize(workspace) && std::ranges::all_of(tensors, aligned);
}

void execute(const Plan& plan, std::span<void* const> tensors, std::span<std::byte> workspace) {
  Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  const auto boundary = static_cast<uintptr_t>(kBoundary);
  const auto start = reinterpret_cast<uintptr_t>(workspace.data());
  void* const scratch = reinterpret_cast<void*>((start + boundary - 1) / boundary * boundary);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, plan.numbers);
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, std::ssize(tensors),
           tensors.data());
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &scratch);
  pack.finalize("the tensors of a cuDNN plan");
  static std::mutex one_at_a_time;  // threads share the handle
  const std::lock_guard lock(one_at_a_time);
  cudnn().run(cudnn().cudnnSetStream(handle(), stream()), "cudnnSetStream");
  cudnn().run(cudnn().cudnnBackendExecute(handle(), plan.descriptor->raw(), pack.raw()),
              "cudnnBackendExecute");
}

}  // namespace plimsoll::cuda
