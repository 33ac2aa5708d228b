#include "autograd/checkpoint.h"

#include "autograd/gradients.h"
#include "autograd/no_grad.h"

namespace plimsoll {
namespace {

// An ordinary op: input 0 is the result, computed off the tape; inputs 1... are xs, and only they
// are saved. The output is a view of input 0. The gradient runs f once more, this time recorded.
struct CheckpointAttrs {
  std::shared_ptr<const CheckpointFunction> f;
  bool operator==(const CheckpointAttrs&) const = default;
};

Value checkpoint_view(const Value& in, const Meta&, const Attrs&) { return in; }

std::vector<Tensor> checkpoint_vjp(const Backward& b) {
  std::vector<Tensor> xs, wanted;
  for (int i = 1; i < b.inputs(); ++i) {
    Tensor x = b.input(i);
    // An inner value becomes a leaf of the piece's own tape; leaves (parameters) are leaves
    // already.
    if (b.needs(i) && x.edge().node->op) x = x.detach().require_grad();
    if (b.needs(i)) wanted.push_back(x);
    xs.push_back(std::move(x));
  }
  ApplyMode mode = apply_mode();
  mode.record = true;
  mode.recomputing = true;
  Tensor y;
  {
    const ApplyModeScope scope(mode);
    y = (*b.attrs<CheckpointAttrs>().f)(xs);
  }
  const std::vector<Tensor> grads = gradients(y, wanted, {.seed = b.grad()});
  std::vector<Tensor> results(1);  // input 0 is not on the tape
  size_t next = 0;
  for (int i = 1; i < b.inputs(); ++i) results.push_back(b.needs(i) ? grads[next++] : Tensor());
  return results;
}

constexpr OpDef checkpoint_op{.name = "checkpoint",
                              .infer = same_as_input,
                              .vjp = checkpoint_vjp,
                              .view = checkpoint_view,
                              .saves = {.inputs = all_but_first}};

}  // namespace

Tensor checkpoint(const CheckpointFunction& f, std::span<const Tensor> xs) {
  check<ValueError>(xs.size() < 63, "checkpoint: too many tensors: ", xs.size(),
                    " of at most 62. Checkpoint a smaller piece of the model.");
  std::vector<Tensor> inputs(1);
  {
    const NoGrad scope;
    inputs[0] = f(xs);
  }
  inputs.insert(inputs.end(), xs.begin(), xs.end());
  return apply(checkpoint_op, inputs,
               CheckpointAttrs{std::make_shared<const CheckpointFunction>(f)})[0];
}

}  // namespace plimsoll
