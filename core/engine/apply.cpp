#include "core/engine/apply.h"

#include <cmath>

#include "core/cuda/seam/cuda.h"
#include "core/engine/first_nonfinite.h"
#include "core/engine/module_scope.h"
#include "core/engine/trace.h"

namespace plimsoll {
namespace {

// Whether every element of a contiguous view is finite; integers always are.
bool all_finite(const View& view) {
  if (!is_floating(view.dtype())) return true;
  const int64_t n = count(view.shape());
  return visit_floating("all_finite", view.dtype(), [&]<class T>() {
    for (int64_t i = 0; i < n; ++i)
      if (!std::isfinite(static_cast<Compute<T>>(view.as<T>()[i]))) return false;
    return true;
  });
}

void check_inputs(const OpDef& op, std::span<const Tensor> inputs) {
  const uint64_t tracing = Trace::current() ? Trace::current()->id() : 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& tensor = inputs[i];
    check<StateError>(tensor.defined(), op.name, ": input ", i,
                      " is undefined. Pass a tensor that was computed.");
    const uint64_t trace = tensor.value().storage->trace();
    check<StateError>(trace == 0 || trace == tracing, op.name, ": input ", i,
                      " belongs to a captured step that has ended: ", tensor.meta(),
                      ". Return it from the step instead.");
    check<StateError>(trace != 0 || tensor.value().storage->data() || tensor.count() == 0, op.name,
                      ": input ", i,
                      " is a parameter of which other ranks have parts: ", tensor.meta(),
                      ". Use it in the step that trains, or when that is over.");
    check<DeviceError>(tensor.device() == inputs[0].device(), op.name,
                       ": the inputs are on different devices: ", inputs[0].meta(), " and ",
                       tensor.meta(), ". Move them to one device first.");
    check<StateError>(has(op.strided, static_cast<int>(i)) || op.view || tensor.contiguous(),
                      op.name, ": input ", i, " is not contiguous: ", tensor.meta(),
                      ". Call contiguous() on it first.");
  }
}

void check_finite(const OpDef& op, const char* side, int number, const View& view) {
  std::string* const first = FirstNonfinite::current();
  if (first && !first->empty()) return;
  if (view.meta.device == Device::cuda ? cuda_api().all_finite(view) : all_finite(view)) return;
  std::string text = cat(op.name, ": ", side, " ", number, " holds NaN or infinity: ", view.meta,
                         ". Lower the learning rate or look at this op's inputs.");
  if (!first) throw NumericError(text);
  *first = std::move(text);
}

void run(const OpDef& op, const Attrs& attrs, std::span<const Tensor> inputs,
         std::span<const Value> outputs, Device device) {
  const Kernel kernel = kernel_for(op, device);
  std::vector<View> in, out;
  bool work = outputs.empty();
  for (const Tensor& tensor : inputs) in.push_back(view_of(tensor.value()));
  for (const Value& value : outputs) {
    out.push_back(view_of(value));
    work = work || count(value.meta.shape) > 0;
  }
  std::shared_ptr<Storage> scratch;
  if (op.workspace)
    scratch = Storage::allocate(device, workspace_bytes(op, {in, out, attrs, {}}),
                                MemoryClass::workspace, op.name);
  std::span<std::byte> workspace;
  if (scratch && scratch->data())
    workspace = {scratch->data(), static_cast<size_t>(scratch->bytes())};
  if (work) kernel({in, out, attrs, workspace});  // nothing to write: nothing runs
  if (apply_mode().check_finite && device != Device::null) check_written(op, {in, out, attrs, {}});
}

std::vector<Value> make_outputs(const OpDef& op, const Attrs& attrs, std::span<const Tensor> inputs,
                                const Metas& metas) {
  std::vector<Value> outputs;
  if (op.view) {
    for (size_t k = 0; k < metas.size(); ++k)
      outputs.push_back(op.view(inputs[0].value(), metas[k], attrs, static_cast<int>(k)));
    return outputs;
  }
  if (Trace* trace = Trace::current()) return trace->append(op, attrs, inputs, metas);
  for (const Meta& meta : metas)
    outputs.push_back(
        {meta, row_major(meta.shape), 0,
         Storage::allocate(meta.device, bytes_of(meta), MemoryScope::current(), op.name)});
  run(op, attrs, inputs, outputs, metas.empty() ? inputs[0].device() : metas[0].device);
  return outputs;
}

// Keeps what the op declared; everything else only by its shape.
void keep(Bits saved, int number, const Value& value, std::vector<Value>& values,
          std::vector<uint32_t>& versions) {
  values.push_back(has(saved, number) ? value : Value{});
  versions.push_back(value.storage->version());
}

std::shared_ptr<Node> make_node(const OpDef& op, Attrs attrs, std::span<const Tensor> inputs,
                                std::span<const Value> outputs) {
  auto node = std::make_shared<Node>();
  node->op = &op;
  node->attrs = std::move(attrs);
  node->module = current_module();
  for (size_t i = 0; i < inputs.size(); ++i) {
    node->parents.push_back(inputs[i].edge());
    node->in_metas.push_back(inputs[i].meta());
    keep(op.vjp.inputs, static_cast<int>(i), inputs[i].value(), node->in, node->in_versions);
  }
  for (size_t k = 0; k < outputs.size(); ++k) {
    node->out_metas.push_back(outputs[k].meta);
    keep(op.vjp.outputs, static_cast<int>(k), outputs[k], node->out, node->out_versions);
  }
  return node;
}

// Before an op that writes in place: nobody else may be looking at what it writes.
void check_mutated(const OpDef& op, std::span<const Tensor> inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!has(op.mutates, static_cast<int>(i))) continue;
    const auto& storage = inputs[i].value().storage;
    check<StateError>(!apply_mode().record || !inputs[i].needs_grad(), op.name, ": input ", i,
                      " is written in place but is part of the tape: ", inputs[i].meta(),
                      ". Do it under NoGrad.");
    for (size_t j = 0; j < inputs.size(); ++j)
      check<ValueError>(i == j || inputs[j].value().storage->base() != storage->base(), op.name,
                        ": input ", i, " is written in place and shares its memory with input ", j,
                        ": ", inputs[i].meta(), ". Pass a copy of one of them.");
    if (Trace::current() && !storage->is_symbolic()) Trace::current()->mutate(storage, op.name);
  }
}

void bump_versions(const OpDef& op, std::span<const Tensor> inputs) {
  for (size_t i = 0; i < inputs.size(); ++i)
    if (has(op.mutates, static_cast<int>(i))) inputs[i].value().storage->bump_version();
}

}  // namespace

void check_written(const OpDef& op, const Call& call) {
  for (size_t k = 0; k < call.out.size(); ++k)
    if (!op.collective || !has(op.collective->later, static_cast<int>(k)))
      check_finite(op, "output", static_cast<int>(k), call.out[k]);
  for (size_t i = 0; i < call.in.size(); ++i)
    if (has(op.mutates, static_cast<int>(i)))
      check_finite(op, "input", static_cast<int>(i), call.in[i]);
}

Kernel kernel_for(const OpDef& op, Device device) {
  if (device == Device::null) return [](const Call&) {};
  const Kernel kernel = device == Device::cpu ? op.cpu : op.cuda;
  check<DeviceError>(kernel != nullptr, op.name, ": no ",
                     device == Device::cuda ? "CUDA" : name_of(device),
                     " kernel in this build: the inputs are on ", device, ". ",
                     device == Device::cuda && !cuda_backend ? "Configure with -DPLIMSOLL_CUDA=ON."
                                                             : "Move them to another device.");
  return kernel;
}

std::vector<Tensor> autocast(CastRule rule, std::initializer_list<Tensor> inputs) {
  return apply_mode().casts ? apply_mode().casts(rule, inputs) : std::vector<Tensor>(inputs);
}

std::vector<Tensor> apply(const OpDef& op, std::span<const Tensor> given, Attrs attrs) {
  std::vector<Tensor> cast;
  if (op.cast != CastRule::keep && apply_mode().casts) cast = apply_mode().casts(op.cast, given);
  const std::span<const Tensor> inputs = cast.empty() ? given : cast;
  check_inputs(op, inputs);
  if (op.mutates && apply_mode().recomputing) return {};
  Metas in_metas;
  bool wants_grad = false;
  for (const Tensor& tensor : inputs) {
    in_metas.push_back(tensor.meta());
    wants_grad = wants_grad || tensor.needs_grad();
  }
  const Metas out_metas = op.infer(in_metas, attrs);
  if (op.mutates) check_mutated(op, inputs);
  const std::vector<Value> outputs = make_outputs(op, attrs, inputs, out_metas);
  bump_versions(op, inputs);

  std::shared_ptr<Node> node;
  if (wants_grad && apply_mode().record && !op.mutates)
    node = make_node(op, std::move(attrs), inputs, outputs);
  std::vector<Tensor> results;
  for (size_t k = 0; k < outputs.size(); ++k) {
    const bool differentiable = node && is_floating(outputs[k].meta.dtype);
    results.emplace_back(outputs[k], differentiable ? Edge{node, static_cast<int>(k)} : Edge{});
  }
  return results;
}

}  // namespace plimsoll
