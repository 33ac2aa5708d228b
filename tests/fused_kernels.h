// What the tests of generated kernels share.
//
//   const Fused& fused = only_group(fused_program(f, {on_cuda({8, 256}), on_cuda({256})}));
#pragma once

#include "core/trace.h"
#include "memory/dead_code.h"
#include "memory/fusion/build.h"
#include "memory/fusion/fuse.h"
#include "memory/fusion/source.h"
#include "tests/fused_programs.h"
#include "tests/suite.h"

namespace plimsoll::fusion {

// The program with these groups of its instructions (find_groups) fused, whatever they take.
inline Program rewrite(const Program& program, const std::vector<Group>& groups) {
  return remove_dead(rewritten(program, build(program, groups)));
}

}  // namespace plimsoll::fusion

namespace plimsoll::fused_programs {

inline Meta on_cuda(const Shape& shape, DType dtype = DType::f32) {
  return {shape, dtype, Device::cuda};
}

// As fuse() does, but for the comparison of plans and without compiling.
template <class F>
Program fused_program(F f, const Metas& metas) {
  const Program program =
      remove_dead(capture([&](std::span<const Tensor> in) { return f(in); }, metas));
  return fusion::rewrite(program, fusion::find_groups(program, kFuseAll));
}

inline const fusion::Fused& only_group(const Program& program) {
  EXPECT_EQ(program.instructions.size(), 1u);
  return program.instructions.back().attrs.as<fusion::Fused>();
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// The ops in order: "affine+relu sin".
inline std::string names(const Program& program) {
  std::string text;
  for (const Instruction& i : program.instructions)
    text += cat(text.empty() ? "" : " ", i.op->name);
  return text;
}

// Adds the kernels of a program's groups.
inline void add_kernels(const Program& program, std::vector<const GeneratedKernel*>& kernels) {
  for (const Instruction& i : program.instructions)
    if (fusion::is_fused(i)) kernels.push_back(i.attrs.as<fusion::Fused>().kernel);
}

// Why generated kernels cannot run here; empty where they can.
inline std::string why_no_kernels() {
  if (const std::string why = why_no_cuda(); !why.empty()) return why;
  static const GeneratedKernel probe{.name = "probe", .text = "PLIMSOLL_KERNEL(probe) {}\n"};
  static const bool compiles = compile_generated(std::array{&probe});
  return compiles ? "" : "cuda: there is no compiler for generated kernels";
}

}  // namespace plimsoll::fused_programs
