#include "memory/fusion/fuse.h"

#include "memory/fusion/build.h"
#include "memory/fusion/combine.h"

namespace plimsoll {
namespace fusion {
namespace {

// Whether all fused instructions can run: on a GPU, once their kernels are compiled, as one module.
bool is_ready(const Program& program) {
  if (program.device != Device::cuda) return true;
  std::vector<const GeneratedKernel*> kernels;
  for (const Instruction& instruction : program.instructions)
    if (is_fused(instruction)) kernels.push_back(instruction.attrs.as<Fused>().kernel);
  return kernels.empty() || (compile_generated && compile_generated(kernels));
}

}  // namespace
}  // namespace fusion

Program fuse(Program program, Fusion passes) {
  using namespace fusion;
  if (program.device == Device::null || passes == Fusion{}) return program;
  if (passes.norms) program = combine(std::move(program));
  const std::vector<Rewrite> all = build(program, find_groups(program, passes));
  Program fused = rewrite_no_larger(program, [&](const LeftOut& left_out) {
    std::vector<Rewrite> kept = all;
    std::erase_if(kept, [&](const Rewrite& r) { return left_out.contains(r.members); });
    return kept;
  });
  return is_ready(fused) ? std::move(fused) : std::move(program);
}

}  // namespace plimsoll
