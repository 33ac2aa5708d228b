// OpDef: everything the engine knows about an op, as data. An op is one constexpr OpDef, the free
// functions it points to, and a public function that calls apply().
//
//   constexpr OpDef relu_op{.name = "relu", .infer = same_as_input, .cpu = relu_cpu,
//                           .vjp = relu_vjp, .saves = {.outputs = bits(0)}, .inplace = 0};
//   Tensor relu(const Tensor& x) { return apply1(relu_op, {contiguous(x)}); }
#pragma once

#include <span>

#include "core/cast_rule.h"
#include "core/cuda.h"
#include "core/tensor.h"

namespace plimsoll {

// A set of input or output numbers. The last bit stands for number 63 and all after it, so that an
// op (concat, a global norm) may take any number of inputs.
using Bits = uint64_t;
template <class... Ints>
constexpr Bits bits(Ints... numbers) {
  return (Bits{0} | ... | (Bits{1} << (numbers < 63 ? numbers : 63)));
}
constexpr Bits all_but_first = ~Bits{1};
constexpr Bits everything = ~Bits{0};
constexpr bool has(Bits set, int number) { return (set >> (number < 63 ? number : 63)) & 1; }

// What a kernel is called with. It writes every element of `out` (row-major, not initialised),
// reads `in`, and may scribble on `workspace`, whose contents are undefined.
struct Call {
  std::span<const View> in;
  std::span<const View> out;
  const Attrs& attrs;
  std::span<std::byte> workspace;
  // Which element of the whole the first one is, where an op is run tile by tile (Tiling).
  int64_t first = 0;
};

// What a gradient rule may read: the gradients of the outputs, the declared saves, all shapes.
class Backward {
 public:
  Backward(const std::shared_ptr<Node>& node, std::span<Tensor> grads, Bits needed)
      : node_(node), grads_(grads), needed_(needed) {}

  const Tensor& grad(int output = 0) const { return grads_[output]; }  // undefined: it is zero
  // The same, given away: its memory goes back as soon as the rule no longer needs it.
  Tensor take_grad(int output = 0) const { return std::move(grads_[output]); }
  Tensor input(int number) const;   // StateError unless in saves.inputs
  Tensor output(int number) const;  // StateError unless in saves.outputs
  const Meta& input_meta(int number) const { return node_->in_metas[number]; }
  const Meta& output_meta(int number) const { return node_->out_metas[number]; }
  int inputs() const { return static_cast<int>(node_->in_metas.size()); }
  bool needs(int input) const { return has(needed_, input); }  // is this gradient wanted at all?
  template <class T>
  const T& attrs() const {
    return node_->attrs.as<T>();
  }

 private:
  const std::shared_ptr<Node>& node_;
  std::span<Tensor> grads_;
  Bits needed_;
};

using Infer = Metas (*)(std::span<const Meta> in, const Attrs&);
using Kernel = void (*)(const Call&);
using Vjp = std::vector<Tensor> (*)(const Backward&);  // one per input; undefined: none
using ViewRule = Value (*)(const Value& in, const Meta& out, const Attrs&, int output);
using Flops = double (*)(std::span<const Meta> in, std::span<const Meta> out, const Attrs&);
using Code = std::string (*)(const Attrs&);
using Workspace = int64_t (*)(std::span<const Meta> in, std::span<const Meta> out, const Attrs&);

struct Saves {
  Bits inputs = 0, outputs = 0;
};

// Whether an op can be run tile by tile, which lets a captured step run it together with the ops
// before and after it, in the cache (memory/fusion). Kernels then see parts of their operands: a
// matrix [R, C] of all elements, cut, in which what is broadcast has strides of 0.
enum class Tiling : uint8_t {
  none,      // all of it or nothing
  elements,  // each element of the outputs is made of the same element of the inputs
  rows       // each row of the last axis is made of the same row of the inputs; they are not cut
};

struct OpDef {
  const char* name;
  Infer infer;  // shape rule: checks the inputs, names the outputs
  Kernel cpu = nullptr;
  Kernel cuda = nullptr;    // PLIMSOLL_CUDA_KERNEL: null in a build without CUDA
  Vjp vjp = nullptr;        // gradients of the inputs, written in ops; nullptr: it has none
  ViewRule view = nullptr;  // every output is a view of input 0: such an op has no kernel
  Saves saves{};            // what vjp reads: the eager tape keeps exactly these
  int inplace = -1;         // input whose memory output 0 may take (only the planner does it)
  Bits mutates = 0;         // inputs written in place; such an op has no outputs
  Bits strided = 0;         // inputs read through their strides; all others must be contiguous
  // Bytes of scratch, known before the op runs: from the metas, and where each thread needs its own
  // from num_threads() when it is asked. The kernel makes do with what it gets.
  Workspace workspace = nullptr;
  CastRule cast = CastRule::keep;
  Tiling tiling = Tiling::none;
  Bits whole = 0;  // inputs that a tile reads as they are: a key, the weights of a norm
  // The op on one element, as C++: a function object of ops/element.h, whose inputs in `whole` are
  // pointers that follow its constants. Kernels that run several ops are made of it.
  Code code = nullptr;
  // The CUDA kernel also takes the operands of several calls with equal attributes, one's behind
  // another's: replay joins calls that do not need each other. Without workspace.
  bool joins = false;
  // Floating-point operations, where they are many more than elements: a first guess of the cost.
  Flops flops = nullptr;
};

// Shape rule of ops whose output looks like input 0.
Metas same_as_input(std::span<const Meta> in, const Attrs&);

// All ops of the engine, in the order of ops/CMakeLists.txt. Generated by the build.
std::span<const OpDef* const> all_ops();

}  // namespace plimsoll
