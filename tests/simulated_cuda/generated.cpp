// Generated kernels (core/generated.h) in the simulation: compiled as plain C++ by the compiler
// that compiled this, and loaded.
#include "core/generated.h"

#include <dlfcn.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include "core/cuda/launch.cuh"

namespace plimsoll {

bool compile_generated(std::span<const GeneratedKernel* const> kernels) {
  std::vector<const GeneratedKernel*> missing;
  for (const GeneratedKernel* kernel : kernels)
    if (!kernel->compiled && std::ranges::find(missing, kernel) == missing.end())
      missing.push_back(kernel);
  if (missing.empty()) return true;
  std::string folder = std::filesystem::temp_directory_path() / "plimsoll_XXXXXX";
  if (!mkdtemp(folder.data())) return false;
  {
    std::ofstream file(folder + "/fused.cpp");
    file << "#include \"cuda_runtime.h\"\n#include \"ops/element_rows.cuh\"\n\nnamespace plimsoll "
            "{\n";
    for (const GeneratedKernel* kernel : missing) file << "\n" << kernel->text;
    file << "\n}  // namespace plimsoll\n";
  }
  const std::string library = folder + "/fused.so";
  const std::string command = PLIMSOLL_GENERATED_CXX " -o " + library + " " + folder + "/fused.cpp";
  void* loaded = nullptr;
  if (std::system(command.c_str()) == 0) loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!loaded) std::fprintf(stderr, "simulated CUDA: generated kernels do not compile.\n");
  std::filesystem::remove_all(folder);
  if (!loaded) return false;
  for (const GeneratedKernel* kernel : missing)
    kernel->compiled = dlsym(loaded, kernel->name.c_str());
  return true;
}

void launch_generated(const GeneratedKernel& kernel, int64_t pieces,
                      const KernelArguments& arguments) {
  constexpr int kThreads = 32, kMostBlocks = 3;  // few: threads take several pieces each
  const auto run =
      reinterpret_cast<void (*)(KernelArguments)>(const_cast<void*>(kernel.compiled.load()));
  if (kernel.threads > 0) return cuda::launch(run, pieces, kernel.threads, arguments);
  cuda::launch(run, std::min<int64_t>((pieces + kThreads - 1) / kThreads, kMostBlocks), kThreads,
               arguments);
}

}  // namespace plimsoll
