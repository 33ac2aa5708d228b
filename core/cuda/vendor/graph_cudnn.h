// Graphs of operations for cuDNN 9's backend API: descriptors that free themselves, and plans.
//
//   Graph graph;
//   const auto x = graph.tensor({n, c, h, w}, strides, CUDNN_DATA_HALF);   // numbered 1, 2, ...
//   graph.operation(CUDNN_BACKEND_OPERATION_..., [&](Descriptor& op) {
//     op.set(CUDNN_ATTR_OPERATION_..., x);
//   });
//   const auto plan = best_plan(graph, "", Rounding::any, limit);
//   execute(*plan, {x_data, ...}, workspace);                              // in their order
//
// Included by *_cudnn.cpp only.
#pragma once

#include <cudnn.h>

#include <concepts>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/dtype.h"
#include "core/cuda/vendor/libraries.h"
#include "core/cuda/vendor/library_plan.h"

namespace plimsoll::cuda {

// The functions of the library; DeviceError when it cannot be had.
struct Cudnn {
  Library library{{.name = "cuDNN 9", .file = "libcudnn.so.9", .package = "nvidia-cudnn-cu13"}};
#define PLIMSOLL_FUNCTION(name) decltype(::name)* name = library.function<decltype(::name)>(#name)
  PLIMSOLL_FUNCTION(cudnnGetVersion);
  PLIMSOLL_FUNCTION(cudnnGetErrorString);
  PLIMSOLL_FUNCTION(cudnnGetLastErrorString);
  PLIMSOLL_FUNCTION(cudnnCreate);
  PLIMSOLL_FUNCTION(cudnnSetStream);
  PLIMSOLL_FUNCTION(cudnnBackendCreateDescriptor);
  PLIMSOLL_FUNCTION(cudnnBackendDestroyDescriptor);
  PLIMSOLL_FUNCTION(cudnnBackendFinalize);
  PLIMSOLL_FUNCTION(cudnnBackendSetAttribute);
  PLIMSOLL_FUNCTION(cudnnBackendGetAttribute);
  PLIMSOLL_FUNCTION(cudnnBackendExecute);
#undef PLIMSOLL_FUNCTION
  Cudnn();
  // DeviceError: what failed, and why the library says so.
  void run(cudnnStatus_t status, const char* call) const;
};
const Cudnn& cudnn();
// Whether it can be had; why not is said once.
bool cudnn_usable();

// The handle of the process, which one thread may use at a time: this one, until the scope ends. It
// stays open, as plans refer to it.
class Handle {
 public:
  Handle();
  cudnnHandle_t raw() const { return handle_; }

 private:
  std::unique_lock<std::mutex> lock_;
  cudnnHandle_t handle_ = nullptr;
};

class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type);
  ~Descriptor() { cudnn().cudnnBackendDestroyDescriptor(handle_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t n,
           const void* values);
  void set(cudnnBackendAttributeName_t name, std::span<const int64_t> values);
  void set(cudnnBackendAttributeName_t name, int64_t value) { set(name, {&value, 1}); }
  void set(cudnnBackendAttributeName_t name, const Descriptor& other);
  void set(cudnnBackendAttributeName_t name, cudnnDataType_t type);
  void set(cudnnBackendAttributeName_t name, std::same_as<bool> auto value) {
    set(name, CUDNN_TYPE_BOOLEAN, 1, &value);
  }
  void finalize(const char* what);
  cudnnStatus_t finalize();  // the same, where the library may refuse

  // How many values an attribute has; at most `n` of them are read.
  int64_t get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t n,
              void* values) const;
  cudnnBackendDescriptor_t raw() const { return handle_; }

 private:
  cudnnBackendDescriptor_t handle_ = nullptr;
};

// Of f16, bf16 or f32.
cudnnDataType_t type_of(DType dtype);

class Graph {
 public:
  // Of memory of the device; one that never exists; or a number that execute() reads on the host.
  enum Place { kMemory, kVirtual, kValue };
  const Descriptor& tensor(std::span<const int64_t> sizes, std::span<const int64_t> strides,
                           cudnnDataType_t type, Place place = kMemory);
  // One number of f32 on the host, behind all in memory.
  const Descriptor& number();
  // One that is no operation itself, and one that is; `fill` sets its attributes.
  template <class F>
  const Descriptor& part(cudnnBackendDescriptorType_t type, const F& fill) {
    Descriptor& made = parts_.emplace_back(type);
    fill(made);
    made.finalize("cudnnBackendFinalize");
    return made;
  }
  template <class F>
  void operation(cudnnBackendDescriptorType_t type, const F& fill) {
    operations_.push_back(part(type, fill).raw());
  }

  // y = mode(x, b), or mode(x) without b, computed in `type`. `choice` picks between x and b;
  // `axis` is what is counted.
  void pointwise(cudnnPointwiseMode_t mode, const Descriptor& x, const Descriptor* b,
                 const Descriptor& y, cudnnDataType_t type = CUDNN_DATA_FLOAT,
                 const Descriptor* choice = nullptr, int64_t axis = -1);

  std::span<const cudnnBackendDescriptor_t> operations() const { return operations_; }
  // Of all tensors but the virtual ones.
  std::span<const int64_t> numbers() const { return numbers_; }

 private:
  std::deque<Descriptor> parts_;
  std::vector<cudnnBackendDescriptor_t> operations_;
  std::vector<int64_t> numbers_;
  int64_t next_ = 1;
};

// Of what plans work in. Workspaces lie on smaller ones, so plans ask for as much more.
constexpr int64_t kWorkspaceBoundary = 256;

struct Plan {
  std::unique_ptr<Descriptor> descriptor;
  std::vector<int64_t> numbers;
  int64_t engine, workspace;
};

// What a plan may do to its operands: nothing; round f32 to TF32, of 10 bits, for the tensor cores;
// or whatever costs no more than 16 bits have.
enum class Rounding { none, tf32, any };

// The first of the plans that cuDNN's heuristics propose which it can build, which gives the same
// result in every run, rounds no more than it may, and needs no more workspace than `limit` bytes.
// Nothing: there is none. For the device that is open, or for one that is only described, in JSON,
// on a machine that may have none; such plans cannot be executed. From any thread.
std::optional<Plan> best_plan(const Graph& graph, const std::string& description, Rounding rounding,
                              int64_t limit);

// Of what was asked for once, for the device; from any thread.
template <class Key>
class Plans {
 public:
  using Make = std::optional<Plan> (*)(const Key& key, const std::string& description);
  explicit Plans(Make make) : make_(make) {}

  // Made when it is asked for first; good for the process. nullptr: there is none.
  const Plan* find(const Key& key) {
    if (!cudnn_usable()) return nullptr;
    const std::lock_guard lock(mutex_);
    auto known = plans_.find(key);
    if (known == plans_.end()) known = plans_.emplace(key, make_(key, {})).first;
    return known->second ? &*known->second : nullptr;
  }

 private:
  const Make make_;
  std::mutex mutex_;
  std::map<Key, std::optional<Plan>> plans_;
};

inline std::optional<LibraryPlan> summary(const Plan* plan) {
  if (!plan) return std::nullopt;
  return LibraryPlan{plan->engine, plan->workspace};
}

// Whether there is a plan, it needs no more workspace than this, and all tensors lie on boundaries
// of 16 bytes, as cuDNN was told.
bool can_execute(const Plan* plan, std::span<void* const> tensors, std::span<std::byte> workspace);

// The tensors in the order in which they were made. Queued on stream().
void execute(const Plan& plan, std::span<void* const> tensors, std::span<std::byte> workspace);

}  // namespace plimsoll::cuda
