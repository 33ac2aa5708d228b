#include <nvrtc.h>

#include <algorithm>
#include <mutex>

#include "core/cuda/generated.h"
#include "core/cuda/libraries.h"
#include "core/cuda/runtime.h"
#include "core/text.h"

namespace plimsoll::cuda {
namespace {

// The functions of the library.
struct Nvrtc {
  Library library{{.name = "NVRTC 13", .file = "libnvrtc.so.13", .package = "nvidia-cuda-nvrtc"}};
#define PLIMSOLL_FUNCTION(name) decltype(::name)* name = library.function<decltype(::name)>(#name)
  PLIMSOLL_FUNCTION(nvrtcVersion);
  PLIMSOLL_FUNCTION(nvrtcGetErrorString);
  PLIMSOLL_FUNCTION(nvrtcGetNumSupportedArchs);
  PLIMSOLL_FUNCTION(nvrtcGetSupportedArchs);
  PLIMSOLL_FUNCTION(nvrtcCreateProgram);
  PLIMSOLL_FUNCTION(nvrtcDestroyProgram);
  PLIMSOLL_FUNCTION(nvrtcCompileProgram);
  PLIMSOLL_FUNCTION(nvrtcGetProgramLogSize);
  PLIMSOLL_FUNCTION(nvrtcGetProgramLog);
  PLIMSOLL_FUNCTION(nvrtcGetCUBINSize);
  PLIMSOLL_FUNCTION(nvrtcGetCUBIN);
  PLIMSOLL_FUNCTION(nvrtcGetPTXSize);
  PLIMSOLL_FUNCTION(nvrtcGetPTX);
#undef PLIMSOLL_FUNCTION

  void run(nvrtcResult status, const char* call) const {
    check<DeviceError>(status == NVRTC_SUCCESS, "cuda: ", call,
                       " failed: ", nvrtcGetErrorString(status),
                       ". Without --fuse nothing is compiled at run time.");
  }

  // --gpu-architecture: of the device, or, where it is younger, PTX of the youngest one known.
  std::string target(int architecture) const {
    int known = 0;
    run(nvrtcGetNumSupportedArchs(&known), "nvrtcGetNumSupportedArchs");
    std::vector<int> all(static_cast<size_t>(known));
    run(nvrtcGetSupportedArchs(all.data()), "nvrtcGetSupportedArchs");
    if (std::ranges::find(all, architecture) != all.end()) return cat("sm_", architecture);
    const int youngest = std::ranges::max(all);
    check<DeviceError>(architecture > youngest, "cuda: NVRTC has no code for compute capability ",
                       architecture / 10, ".", architecture % 10,
                       ". Without --fuse nothing is compiled at run time.");
    return cat("compute_", youngest);
  }

  std::string version() const {
    int major = 0, minor = 0;
    run(nvrtcVersion(&major, &minor), "nvrtcVersion");
    return cat(major, ".", minor);
  }
};

const Nvrtc& nvrtc() {
  static const Nvrtc opened;  // tried again by the next call where it throws
  return opened;
}

class Compilation {
 public:
  explicit Compilation(const std::string& text) : api_(nvrtc()) {
    std::vector<const char*> texts, names;
    for (const EmbeddedHeader& header : embedded_headers) {
      texts.push_back(header.text);
      names.push_back(header.name);
    }
    api_.run(api_.nvrtcCreateProgram(&program_, text.c_str(), "fused.cu",
                                     static_cast<int>(names.size()), texts.data(), names.data()),
             "nvrtcCreateProgram");
  }
  ~Compilation() { api_.nvrtcDestroyProgram(&program_); }
  Compilation(const Compilation&) = delete;
  Compilation& operator=(const Compilation&) = delete;

  CompiledModule run(const std::string& target, std::span<const char* const> more) {
    const std::string architecture = cat("--gpu-architecture=", target);
    // Functions of the engine are those of the device here, whether they say so or not.
    std::vector<const char*> options{architecture.c_str(), "--std=c++20",
                                     "--device-as-default-execution-space"};
    options.insert(options.end(), more.begin(), more.end());
    const nvrtcResult status =
        api_.nvrtcCompileProgram(program_, static_cast<int>(options.size()), options.data());
    const std::string log = this->log();
    check<DeviceError>(status == NVRTC_SUCCESS, "cuda: NVRTC refuses generated kernels: ", log,
                       ". Without fusion nothing is compiled at run time.");
    const bool machine_code = target.starts_with("sm_");
    size_t size = 0;
    api_.run((machine_code ? api_.nvrtcGetCUBINSize : api_.nvrtcGetPTXSize)(program_, &size),
             machine_code ? "nvrtcGetCUBINSize" : "nvrtcGetPTXSize");
    CachedBytes code(size);
    api_.run((machine_code ? api_.nvrtcGetCUBIN : api_.nvrtcGetPTX)(
                 program_, reinterpret_cast<char*>(code.data())),
             machine_code ? "nvrtcGetCUBIN" : "nvrtcGetPTX");
    return {std::move(code), log};
  }

 private:
  std::string log() const {
    size_t size = 0;
    api_.run(api_.nvrtcGetProgramLogSize(program_, &size), "nvrtcGetProgramLogSize");
    std::string text(size, '\0');
    api_.run(api_.nvrtcGetProgramLog(program_, text.data()), "nvrtcGetProgramLog");
    while (!text.empty() && (text.back() == '\0' || text.back() == '\n')) text.pop_back();
    return text;
  }

  const Nvrtc& api_;
  nvrtcProgram program_ = nullptr;
};

// Compiles what is not ready for this device, or reads the file that it left, and loads it.
void compile(std::span<const GeneratedKernel* const> kernels) {
  const CompiledModule module = compile_module(module_text(kernels), architecture());
  cudaLibrary_t library = nullptr;  // stays, as its kernels do
  check_cuda(
      cudaLibraryLoadData(&library, module.code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
      "cudaLibraryLoadData");
  for (const GeneratedKernel* kernel : kernels) {
    cudaKernel_t function = nullptr;
    check_cuda(cudaLibraryGetKernel(&function, library, kernel->name.c_str()),
               "cudaLibraryGetKernel");
    kernel->compiled = function;
  }
}

}  // namespace

std::string module_text(std::span<const GeneratedKernel* const> kernels) {
  std::string text = "#include \"ops/element_rows.cuh\"\n\nnamespace plimsoll {\n\n";
  for (const GeneratedKernel* kernel : kernels) text += kernel->text + "\n";
  return text + "}  // namespace plimsoll\n";
}

CompiledModule compile_module(const std::string& text, int architecture,
                              std::span<const char* const> options) {
  const std::string target = nvrtc().target(architecture);
  std::string made_of = cat("generated kernels 1 ", target, " NVRTC ", nvrtc().version());
  for (const char* option : options) made_of += cat(" ", option);
  for (const EmbeddedHeader& header : embedded_headers) made_of += cat("\n", header.text);
  CompiledModule module;
  const auto make = [&] {
    module = Compilation(text).run(target, options);
    return module.code;
  };
  const std::filesystem::path folder = cache_folder();
  module.code = folder.empty() ? make() : cached_file(folder, {made_of, text}, make);
  return module;
}

}  // namespace plimsoll::cuda

namespace plimsoll {

bool compile_generated(std::span<const GeneratedKernel* const> kernels) {
  static std::mutex mutex;
  static bool said = false;
  const std::scoped_lock lock(mutex);
  std::vector<const GeneratedKernel*> missing;
  for (const GeneratedKernel* kernel : kernels)
    if (!kernel->compiled && std::ranges::find(missing, kernel) == missing.end())
      missing.push_back(kernel);
  if (missing.empty()) return true;
  try {
    cuda::compile(missing);
    return true;
  } catch (const DeviceError& error) {
    cudaGetLastError();  // else the next launch would report it
    if (!said && !cuda::libraries_forbidden())
      std::fprintf(stderr, "%s Steps are not fused.\n", error.what());
    said = true;
    return false;
  }
}

void launch_generated(const GeneratedKernel& kernel, int64_t pieces,
                      const KernelArguments& arguments) {
  // As the kernels compiled before: blocks of 256 threads, not more than keep the device busy.
  constexpr int64_t kThreads = 256, kBlocksEach = 16;
  const int64_t most = kBlocksEach * cuda::device_properties().multiProcessorCount;
  const bool by_blocks = kernel.threads > 0;
  const auto threads = static_cast<unsigned>(by_blocks ? kernel.threads : kThreads);
  const int64_t blocks =
      by_blocks ? pieces : std::clamp<int64_t>((pieces + kThreads - 1) / kThreads, 1, most);
  KernelArguments own = arguments;
  void* parameters[] = {&own};
  const cudaError_t status = cudaLaunchKernel(kernel.compiled.load(), cuda::grid_of(blocks),
                                              dim3(threads), parameters, 0, cuda::stream());
  if (status != cudaSuccess) cudaGetLastError();  // it is thrown here: the next call has none
  cuda::check_cuda(status, "cudaLaunchKernel");
}

}  // namespace plimsoll
