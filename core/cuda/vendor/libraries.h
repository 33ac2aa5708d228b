// The vendor's libraries, opened when an op first asks for them: a program built with CUDA starts
// without them, on any machine. Every op also has kernels of this engine's own, which are slower.
//
//   const Library library({.name = "cuBLAS 13", .file = "libcublasLt.so.13",
//                          .package = "nvidia-cublas"});
//   const auto version = library.function<size_t()>("cublasLtGetVersion");
//
// They are looked for, in this order, in
//   1. the folders that PLIMSOLL_CUDA_LIBRARIES names, separated by colons
//   2. ../nvidia/cudnn/lib, ../nvidia/cu13/lib and ../nvidia/nccl/lib beside the program's folder,
//      as pip lays them out
//   3. the folder of the toolkit that this was built with
//   4. wherever the loader looks: the RUNPATH, LD_LIBRARY_PATH, the system's folders
// PLIMSOLL_CUDA_LIBRARIES=none stands for no libraries at all.
#pragma once

#include <string>

#include "core/base/error.h"

namespace plimsoll::cuda {

struct LibraryName {
  const char *name, *file, *package;  // "cuBLAS 13", its file, and what pip calls it
};

// One that is open, for good.
class Library {
 public:
  // DeviceError, which says what to install, when it is not found.
  explicit Library(const LibraryName& name);

  // DeviceError when the library has no such function: it is another version.
  template <class F>
  F* function(const char* function) const {
    return reinterpret_cast<F*>(address(function));
  }

 private:
  void* address(const char* function) const;
  LibraryName name_;
  void* handle_ = nullptr;
};

// Whether PLIMSOLL_CUDA_LIBRARIES forbids all of them.
bool libraries_forbidden();

// Whether they may round operands of f32 to TF32, of 10 bits: PLIMSOLL_TF32=1, read once.
bool tf32_wanted();

// Says once, on stderr, that a library cannot be used and what that means.
void report_missing(const std::string& why);

}  // namespace plimsoll::cuda
