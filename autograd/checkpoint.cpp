#include "autograd/checkpoint.h"

#include <algorithm>
#include <unordered_set>

#include "autograd/gradients.h"
#include "autograd/no_grad.h"

namespace plimsoll {
namespace {

// An ordinary op: input 0 is the result, computed off the tape; inputs 1... are xs, and only they
// are saved. The output is a view of input 0. The gradient runs f once more, this time recorded,
// and walks from there back to xs and no further.
struct CheckpointAttrs {
  std::shared_ptr<const CheckpointFunction> f;
  InputCasts casts;  // autocast as it was, which the backward pass itself runs without
  DType low;
  bool operator==(const CheckpointAttrs&) const = default;
};

Value checkpoint_view(const Value& in, const Meta&, const Attrs&, int) { return in; }

Tensor run_again(const CheckpointAttrs& attrs, std::span<const Tensor> xs) {
  ApplyMode mode = apply_mode();
  mode.record = true;
  mode.recomputing = true;
  mode.casts = attrs.casts;
  mode.low = attrs.low;
  const ApplyModeScope scope(mode);
  return (*attrs.f)(xs);
}

bool same_edge(const Tensor& a, const Tensor& b) {
  return a.edge().node == b.edge().node && a.edge().output == b.edge().output;
}

// What f recorded, the nodes from `oldest` on, may hang on xs alone: a gradient that reached any
// other tensor would be lost without a word.
void check_reaches_only(std::span<const Tensor> xs, const Tensor& y, uint64_t oldest) {
  std::vector<Edge> pending{y.edge()};
  std::unordered_set<const Node*> seen;
  while (!pending.empty()) {
    const Edge edge = std::move(pending.back());
    pending.pop_back();
    if (!edge.node) continue;
    if (edge.node->seq >= oldest) {
      if (!seen.insert(edge.node.get()).second) continue;
      pending.insert(pending.end(), edge.node->parents.begin(), edge.node->parents.end());
      continue;
    }
    const bool given = std::ranges::any_of(xs, [&](const Tensor& x) {
      return x.edge().node == edge.node && x.edge().output == edge.output;
    });
    check<StateError>(
        given, "checkpoint: the function uses a tensor on the tape that is not among its ",
        "inputs: ", edge.node->out_metas[edge.output], ". Pass it with them, or detach() it.");
  }
}

std::vector<Tensor> checkpoint_vjp(const Backward& b) {
  std::vector<Tensor> xs, wanted;
  std::vector<int> inputs;  // the input each of `wanted` stands for
  for (int i = 1; i < b.inputs(); ++i) {
    xs.push_back(b.input(i));
    // A tensor given twice gets its whole gradient the first time.
    const bool again = std::any_of(wanted.begin(), wanted.end(),
                                   [&](const Tensor& w) { return same_edge(w, xs.back()); });
    if (!b.needs(i) || again) continue;
    wanted.push_back(xs.back());
    inputs.push_back(i);
  }
  std::vector<Tensor> results(static_cast<size_t>(b.inputs()));
  const bool create_graph = apply_mode().record;
  const uint64_t oldest = Node::next_seq();
  Tensor y = run_again(b.attrs<CheckpointAttrs>(), xs);
  if (!y.needs_grad()) return results;
  check_reaches_only(xs, y, oldest);
  const std::vector<Tensor> grads =
      gradients(std::move(y), wanted,
                {.seed = b.take_grad(), .create_graph = create_graph, .oldest = oldest});
  for (size_t k = 0; k < wanted.size(); ++k) results[static_cast<size_t>(inputs[k])] = grads[k];
  return results;
}

constexpr OpDef checkpoint_op{.name = "checkpoint",
                              .infer = same_as_input,
                              .vjp = {.rule = checkpoint_vjp, .inputs = all_but_first},
                              .view = checkpoint_view};

}  // namespace

Tensor checkpoint(const CheckpointFunction& f, std::span<const Tensor> xs) {
  check<ValueError>(f != nullptr,
                    "checkpoint: there is no function to call: an empty one. Pass one.");
  check<ValueError>(xs.size() < 63, "checkpoint: too many tensors: ", xs.size(),
                    " of at most 62. Checkpoint a smaller piece of the model.");
  std::vector<Tensor> inputs(1);
  {
    const NoGrad scope;
    inputs[0] = f(xs);
  }
  inputs.insert(inputs.end(), xs.begin(), xs.end());
  return apply(checkpoint_op, inputs,
               CheckpointAttrs{std::make_shared<const CheckpointFunction>(f), apply_mode().casts,
                               apply_mode().low})[0];
}

}  // namespace plimsoll
