#include "core/cuda/vendor/libraries.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <vector>

namespace plimsoll::cuda {
namespace {

std::string setting() {
  const char* value = std::getenv("PLIMSOLL_CUDA_LIBRARIES");
  return value ? value : "";
}

std::vector<std::string> folders() {
  std::vector<std::string> found;
  const std::string named = setting();
  for (size_t begin = 0; begin < named.size();) {
    const size_t end = std::min(named.find(':', begin), named.size());
    if (end > begin) found.push_back(named.substr(begin, end - begin));
    begin = end + 1;
  }
  Dl_info self{};
  if (dladdr(reinterpret_cast<const void*>(&libraries_forbidden), &self) != 0 && self.dli_fname) {
    const std::string path = self.dli_fname;
    const size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash);
    found.push_back(folder + "/../nvidia/cudnn/lib");
    found.push_back(folder + "/../nvidia/cu13/lib");
    found.push_back(folder + "/../nvidia/nccl/lib");
  }
#ifdef PLIMSOLL_CUDA_FOLDER
  found.push_back(PLIMSOLL_CUDA_FOLDER "/lib64");
  found.push_back(PLIMSOLL_CUDA_FOLDER "/lib");
#endif
  return found;
}

// cuDNN compiles some plans by NVRTC, which it opens by its name alone, and NVRTC its builtins. The
// loader finds them so once they are loaded, wherever they lie.
void load_nvrtc() {
  for (const std::string& folder : folders()) {
    const std::string nvrtc = folder + "/libnvrtc.so.13";
    std::error_code none;
    if (!std::filesystem::exists(nvrtc, none)) continue;
    for (const auto& file : std::filesystem::directory_iterator(folder, none))
      if (file.path().filename().string().starts_with("libnvrtc-builtins.so.13"))
        dlopen(file.path().c_str(), RTLD_NOW | RTLD_LOCAL);
    if (dlopen(nvrtc.c_str(), RTLD_NOW | RTLD_LOCAL)) return;
  }
}

void* open(const char* file) {
  [[maybe_unused]] static const bool loaded = (load_nvrtc(), true);
  for (const std::string& folder : folders())
    if (void* handle = dlopen((folder + "/" + file).c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
  return dlopen(file, RTLD_NOW | RTLD_LOCAL);
}

}  // namespace

bool libraries_forbidden() { return setting() == "none"; }

bool tf32_wanted() {
  static const bool wanted = [] {
    const char* value = std::getenv("PLIMSOLL_TF32");
    return value && std::string(value) == "1";
  }();
  return wanted;
}

Library::Library(const LibraryName& name) : name_(name) {
  if (!libraries_forbidden()) handle_ = open(name.file);
  check<DeviceError>(handle_ != nullptr, "cuda: ", name.name, " is missing: there is no ",
                     name.file, ". Install it (pip install ", name.package,
                     ") and name its folder in PLIMSOLL_CUDA_LIBRARIES.");
}

void* Library::address(const char* function) const {
  void* const found = dlsym(handle_, function);
  check<DeviceError>(found != nullptr, "cuda: ", name_.file, " has no function ", function,
                     ": it is not ", name_.name, ". Install that (pip install ", name_.package,
                     ").");
  return found;
}

void report_missing(const std::string& why) {
  if (libraries_forbidden()) return;
  std::fprintf(stderr, "%s Until then its work is done by slower kernels.\n", why.c_str());
}

}  // namespace plimsoll::cuda
