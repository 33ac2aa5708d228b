// Which plan cuDNN runs a graph by: the first of its heuristics' that will do.
#include <algorithm>

#include "core/cuda/graph_cudnn.h"

namespace plimsoll::cuda {
namespace {

// What plans of one graph are asked from and made with: the device, or a description of one.
class Search {
 public:
  Search(const Graph& graph, const std::string& description) : graph_(graph) {
    if (description.empty()) {
      handle_.emplace();
    } else {
      device_ = std::make_unique<Descriptor>(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
      device_->set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                   std::ssize(description), description.data());
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
    auto made = std::make_unique<Descriptor>(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    set_handle(*made, CUDNN_ATTR_EXECUTION_PLAN_HANDLE);
    if (device_) made->set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, *device_);
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
    if (workspace > 0) workspace += kWorkspaceBoundary;
    const auto numbers = graph_.numbers();
    return Plan{std::move(made), {numbers.begin(), numbers.end()}, engine, workspace};
  }

 private:
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

}  // namespace

std::optional<Plan> best_plan(const Graph& graph, const std::string& description, Rounding rounding,
                              int64_t limit) {
  Search search(graph, description);
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

}  // namespace plimsoll::cuda
