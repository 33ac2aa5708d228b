// Kernels that are compiled at run time (core/generated.h), by NVRTC: for the device, or for one
// that need not be there.
//
//   const CompiledModule module = compile_module(module_text(kernels), 90);   // for an H100
#pragma once

#include "core/cache.h"
#include "core/generated.h"

namespace plimsoll::cuda {

// A source file with all of these kernels.
std::string module_text(std::span<const GeneratedKernel* const> kernels);

struct CompiledModule {
  CachedBytes code;  // machine code, or PTX for an architecture younger than NVRTC
  std::string log;   // what the compiler said; empty where the code comes from a file
};

// For a compute capability times ten. DeviceError without NVRTC, for an architecture that it no
// longer knows, and, with the compiler's log, for a text that it refuses. `options` are added to
// those of every module.
CompiledModule compile_module(const std::string& text, int architecture,
                              std::span<const char* const> options = {});

// A header that modules include, as it was when this was built.
struct EmbeddedHeader {
  const char *name, *text;
};
extern const std::span<const EmbeddedHeader> embedded_headers;

}  // namespace plimsoll::cuda
