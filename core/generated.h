// Kernels that are written at run time, as text: what the engine hands to the CUDA half, which
// compiles them all at once and launches them.
//
//   GeneratedKernel kernel{.name = "twice", .text = "PLIMSOLL_KERNEL(twice) {...}"};
//   if (compile_generated && compile_generated({&kernel, ...})) launch_generated(kernel, n, {...});
#pragma once

#include <atomic>
#include <span>
#include <string>

#include "core/kernel_arguments.h"

namespace plimsoll {

struct GeneratedKernel {
  std::string name, text;  // of the function, and its definition in the terms of ops/element.cuh
  int threads = 0;         // of a block, if a block takes a piece of work; 0: a thread takes one
  mutable std::atomic<const void*> compiled = nullptr;  // where the CUDA half has it, for good
};

// Both are null in builds without CUDA. Makes all of them ready that are not: one module. Where
// that is not possible it says why, once, on stderr, and returns false.
[[gnu::weak]] bool compile_generated(std::span<const GeneratedKernel* const> kernels);

// Queues one that is ready, with a block for each of `pieces` pieces, or a thread for each or for
// several.
[[gnu::weak]] void launch_generated(const GeneratedKernel& kernel, int64_t pieces,
                                    const KernelArguments& arguments);

}  // namespace plimsoll
