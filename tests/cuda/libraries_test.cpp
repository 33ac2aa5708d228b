// Opening the vendor's libraries: what is said when one is missing. Part of simulated_cuda_tests,
// which links core/cuda on every machine.
#include <gtest/gtest.h>

#include <cstdlib>

#include "core/cuda/vendor/libraries.h"
#include "tests/support/errors.h"

namespace plimsoll {
namespace {

using cuda::Library;
using cuda::LibraryName;

// PLIMSOLL_CUDA_LIBRARIES for the length of a test.
class Setting {
 public:
  explicit Setting(const char* value) { setenv("PLIMSOLL_CUDA_LIBRARIES", value, 1); }
  ~Setting() { unsetenv("PLIMSOLL_CUDA_LIBRARIES"); }
};

constexpr LibraryName kMath{
    .name = "the C library's mathematics", .file = "libm.so.6", .package = "libc"};

TEST(CudaLibraries, AreFoundWhereTheLoaderLooks) {
  const Library library(kMath);
  EXPECT_EQ(library.function<double(double)>("floor")(3.5), 3);
}

TEST(CudaLibraries, FoldersThatLackThemArePassedOver) {
  const Setting setting("/nowhere::/tmp");
  EXPECT_EQ(Library(kMath).function<double(double)>("floor")(2.5), 2);
}

TEST(CudaLibraries, AMissingOneSaysWhatToInstall) {
  const LibraryName name{.name = "cuBLAS 99", .file = "libplimsoll_none.so.99", .package = "blas"};
  expect_error<DeviceError>(
      [&] { Library{name}; },
      "cuda: cuBLAS 99 is missing: there is no libplimsoll_none.so.99. Install it (pip "
      "install blas) and name its folder in PLIMSOLL_CUDA_LIBRARIES.");
}

TEST(CudaLibraries, AMissingFunctionMeansAnotherVersion) {
  const Library library(kMath);
  expect_error<DeviceError>(
      [&] { library.function<void()>("plimsoll_none"); },
      "cuda: libm.so.6 has no function plimsoll_none: it is not the C library's "
      "mathematics. Install that (pip install libc).");
}

TEST(CudaLibraries, NoneForbidsThemAll) {
  EXPECT_FALSE(cuda::libraries_forbidden());
  const Setting setting("none");
  EXPECT_TRUE(cuda::libraries_forbidden());
  EXPECT_THROW(Library{kMath}, DeviceError);
}

}  // namespace
}  // namespace plimsoll
