#include "autograd/gradients.h"

#include <algorithm>
#include <queue>
#include <unordered_map>
#include <unordered_set>

#include "autograd/no_grad.h"
#include "core/engine/module_scope.h"
#include "core/engine/trace.h"
#include "ops/pointwise/arithmetic/arithmetic.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/random/full/full.h"

namespace plimsoll {
namespace {

using NodePtr = std::shared_ptr<Node>;

struct BySeq {
  bool operator()(const NodePtr& a, const NodePtr& b) const { return a->seq < b->seq; }
};
using Newest = std::priority_queue<NodePtr, std::vector<NodePtr>, BySeq>;

// The nodes on some path from `loss` to a target. Found in ascending seq: a node is on a path when
// it is a target or one of its parents is.
std::unordered_set<const Node*> on_path(const NodePtr& loss,
                                        const std::unordered_set<const Node*>& targets,
                                        uint64_t oldest) {
  std::vector<const Node*> reachable, pending{loss.get()};
  std::unordered_set<const Node*> seen{loss.get()};
  while (!pending.empty()) {
    const Node* node = pending.back();
    pending.pop_back();
    reachable.push_back(node);
    if (node->seq < oldest) continue;
    for (const Edge& edge : node->parents)
      if (edge.node && seen.insert(edge.node.get()).second) pending.push_back(edge.node.get());
  }
  std::sort(reachable.begin(), reachable.end(),
            [](const Node* a, const Node* b) { return a->seq < b->seq; });
  std::unordered_set<const Node*> result;
  for (const Node* node : reachable) {
    bool wanted = targets.contains(node);
    if (node->seq >= oldest)
      for (const Edge& edge : node->parents) wanted = wanted || result.contains(edge.node.get());
    if (wanted) result.insert(node);
  }
  return result;
}

Tensor seed_of(const Tensor& loss, Tensor seed) {
  if (!seed.defined()) {
    check<ShapeError>(loss.count() == 1, "gradients: the loss has several elements: ", loss.meta(),
                      ". Reduce it to one, or give a seed of its shape.");
    return full(loss.shape(), 1, {loss.dtype(), loss.device()});
  }
  check<ValueError>(seed.meta() == loss.meta(),
                    "gradients: the seed does not match the loss: ", seed.meta(), " for ",
                    loss.meta(), ". Give one of the same shape and type.");
  return seed;
}

// One walk over the tape, newest node first.
class Walk {
 public:
  Walk(const Edge& loss, std::span<const Tensor> xs, const GradientOptions& options)
      : options_(options) {
    for (const Tensor& x : xs) targets_.insert(x.edge().node.get());
    path_ = on_path(loss.node, targets_, options.oldest);
  }

  void run(const Edge& loss, Tensor seed) {
    send(loss, std::move(seed));
    while (!queue_.empty()) {
      const NodePtr node = queue_.top();
      queue_.pop();
      visit(node);
    }
  }

  // What has arrived at an output; undefined: nothing, the gradient is zero.
  Tensor arrived(const Edge& edge) const {
    const auto found = grads_.find(edge.node.get());
    return found == grads_.end() ? Tensor() : found->second[edge.output];
  }

 private:
  // nullptr: nothing has arrived there.
  Tensor* sum_at(const Edge& edge) {
    const auto found = grads_.find(edge.node.get());
    return found == grads_.end() ? nullptr : &found->second[edge.output];
  }

  void send(const Edge& edge, Tensor grad) {
    if (!edge.node || !grad.defined() || !path_.contains(edge.node.get())) return;
    auto [entry, is_new] = grads_.try_emplace(edge.node.get());
    if (is_new) {
      entry->second.resize(edge.node->out_metas.size());
      queue_.push(edge.node);
    }
    Tensor& sum = entry->second[edge.output];
    sum = sum.defined() ? add(sum, grad) : std::move(grad);
    // That of anything but a leaf passes by like an activation.
    if (!edge.node->op) set_memory_class(sum, MemoryClass::gradient);
  }

  void visit(const NodePtr& node) {
    if (!node->op || node->seq < options_.oldest) return;  // its gradient stays where it arrived
    Bits needed = 0;
    for (size_t i = 0; i < node->parents.size(); ++i)
      if (path_.contains(node->parents[i].node.get())) needed |= bits(i);
    if (needed == 0) return;  // a target whose own inputs nobody asked about
    check<StateError>(node->op->vjp.rule != nullptr, node->op->name,
                      ": this op has no gradient: output ", node->out_metas[0],
                      ". Use detach() on its input or another op.");
    check<StateError>(!node->released, node->op->name, ": the saved values of output ",
                      node->out_metas[0],
                      " were freed by an earlier backward pass. "
                      "Pass .retain = true to the earlier one.");
    const bool is_target = targets_.contains(node.get());
    std::vector<Tensor> grads =
        is_target ? grads_[node.get()] : std::move(grads_.extract(node.get()).mapped());
    const ModuleScope module(node->module);
    std::vector<Tensor*> sums;
    if (!options_.create_graph)
      for (const Edge& edge : node->parents) sums.push_back(sum_at(edge));
    std::vector<Tensor> results = node->op->vjp.rule(Backward(node, grads, needed, sums));
    if (!options_.retain && !options_.create_graph) node->release();
    for (size_t i = 0; i < node->parents.size(); ++i) {
      if (!path_.contains(node->parents[i].node.get()) || i >= results.size()) continue;
      check<StateError>(!results[i].defined() || results[i].meta() == node->in_metas[i],
                        node->op->name, ": its gradient of input ", i,
                        " does not match: ", results[i].meta(), " for ", node->in_metas[i],
                        ". Mend its gradient rule.");
      send(node->parents[i], std::move(results[i]));
    }
  }

  const GradientOptions& options_;
  std::unordered_set<const Node*> targets_, path_;
  std::unordered_map<const Node*, std::vector<Tensor>> grads_;
  Newest queue_;
};

void check_on_tape(const Tensor& tensor, const char* what) {
  check<StateError>(tensor.defined() && tensor.needs_grad(), "gradients: ", what,
                    " is not on the tape. Compute it from tensors made by require_grad().");
}

// Every leaf below a node, in order of creation.
std::vector<Tensor> leaves_of(const Tensor& loss) {
  std::vector<NodePtr> pending{loss.edge().node}, leaves;
  std::unordered_set<const Node*> seen{pending[0].get()};
  while (!pending.empty()) {
    const NodePtr node = std::move(pending.back());
    pending.pop_back();
    if (!node->op) leaves.push_back(node);
    for (const Edge& edge : node->parents)
      if (edge.node && seen.insert(edge.node.get()).second) pending.push_back(edge.node);
  }
  std::sort(leaves.begin(), leaves.end(),
            [](const NodePtr& a, const NodePtr& b) { return a->seq < b->seq; });
  std::vector<Tensor> result;
  for (const NodePtr& leaf : leaves)
    result.emplace_back(Value{leaf->out_metas[0], {}, 0, nullptr}, Edge{leaf, 0});
  return result;
}

}  // namespace

std::vector<Tensor> gradients(Tensor loss, std::span<const Tensor> xs, GradientOptions options) {
  check_on_tape(loss, "the loss");
  for (const Tensor& x : xs)
    check<StateError>(x.needs_grad(),
                      "gradients: a tensor to differentiate by is not on the tape: ", x.meta(),
                      ". Make it with require_grad().");
  ApplyMode mode = apply_mode();
  mode.record = options.create_graph;
  mode.casts = nullptr;  // each gradient in the type of what it belongs to
  const ApplyModeScope scope(mode);
  Tensor seed = seed_of(loss, std::move(options.seed));
  const Edge from = loss.edge();
  loss = {};  // the walk needs its place on the tape, not its bytes
  Walk walk(from, xs, options);
  walk.run(from, std::move(seed));
  std::vector<Tensor> results;
  for (const Tensor& x : xs) {
    Tensor grad = walk.arrived(x.edge());
    if (!grad.defined()) {
      const MemoryScope memory(MemoryClass::gradient);
      grad = full(x.shape(), 0, {x.dtype(), x.device()});
    } else if (!grad.contiguous()) {
      const MemoryScope memory(MemoryClass::gradient);
      grad = contiguous(grad);
    }
    results.push_back(std::move(grad));
  }
  return results;
}

void backward(const Tensor& loss, const GradientOptions& options) {
  check_on_tape(loss, "the loss");
  check<StateError>(
      !Trace::current(),
      "backward: a step is being captured, and a leaf cannot hold a value that is not "
      "known. Use gradients().");
  const std::vector<Tensor> leaves = leaves_of(loss);
  std::vector<Tensor> totals = gradients(loss, leaves, options);
  const NoGrad scope;
  for (size_t i = 0; i < leaves.size(); ++i) {
    const Value& before = leaves[i].edge().node->grad;
    Tensor grad = std::move(totals[i]).detach();
    totals[i] = {};
    const MemoryScope memory(MemoryClass::gradient);
    if (before.storage)
      grad = add(Tensor(before), grad);
    else if (grad.value().storage.use_count() > 1)
      grad = clone(grad);  // another leaf's gradient, or the seed, is the same memory
    totals[i] = std::move(grad);
  }
  for (size_t i = 0; i < leaves.size(); ++i) leaves[i].edge().node->grad = totals[i].value();
}

void zero_grad(std::span<const Tensor> leaves) {
  for (const Tensor& leaf : leaves)
    if (leaf.edge().node) leaf.edge().node->grad = {};
}

}  // namespace plimsoll
