# Flags for everything in the tree.
#
# Kernels are plain loops that the compiler turns into vector code. They are optimised in every
# build type, because a matrix product is some 250 times slower without; -ffast-math is never used:
# it breaks exp() and the tests for NaN.
if(PLIMSOLL_ARCH STREQUAL levels)
  set(march x86-64-v2)  # the library of each level comes after it with its own
else()
  set(march ${PLIMSOLL_ARCH})
endif()
# Of the host's compiler; the CUDA half has its own (cuda.cmake).
macro(plimsoll_compile_options)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:${ARGN}>")
endmacro()
plimsoll_compile_options(-Wall -Wextra -march=${march} -fno-math-errno -fno-trapping-math
                         -fopenmp-simd)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  # Where there is AVX-512, GCC and Clang prefer half of it; whole vectors are 1.2-1.4 times faster
  # here.
  plimsoll_compile_options(-mprefer-vector-width=512)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  plimsoll_compile_options(-Wno-restrict)  # GCC 12 finds overlaps in strings that are not (bug 105651)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  plimsoll_compile_options(-Wno-pass-failed)  # loops in f64 call the C library and stay loops
endif()
if(PLIMSOLL_WERROR)
  plimsoll_compile_options(-Werror)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O3 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g")
if(PLIMSOLL_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)  # its warnings go astray in instrumented code (bug 105562)
    add_compile_options(-Wno-maybe-uninitialized)
  endif()
  add_link_options(-fsanitize=address,undefined)
endif()

# plimsoll_fuse(SOURCE...): sources of the calling folder where a sum must have the same bits in
# loops of any shape. For Zen, GCC leaves products and sums apart in a loop with one chain of sums
# and fuses them in a loop with several: one row of a matrix product would differ from the same row
# among others.
include(CheckCXXCompilerFlag)
check_cxx_compiler_flag(--param=avoid-fma-max-bits=0 PLIMSOLL_CAN_FUSE)
function(plimsoll_fuse)
  if(PLIMSOLL_CAN_FUSE)
    list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
    set_source_files_properties(${ARGN} TARGET_DIRECTORY plimsoll PROPERTIES
                                COMPILE_OPTIONS --param=avoid-fma-max-bits=0)
  endif()
endfunction()

# plimsoll_part(): the sources of the calling folder and of those in it join the library, and those
# of the CUDA half that one; the seam between the two (core/cuda/seam) is the library's. Tests lie
# beside the code they test and do not.
function(plimsoll_part)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  file(GLOB_RECURSE cuda CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cu)
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  list(FILTER sources EXCLUDE REGEX "^${PROJECT_SOURCE_DIR}/core/mpi/")  # cmake/mpi.cmake
  list(FILTER sources EXCLUDE REGEX "^${PROJECT_SOURCE_DIR}/nn/published/")  # its CMakeLists.txt
  set(folder "^${PROJECT_SOURCE_DIR}/core/cuda/")
  set(cuda_cpp ${sources})
  list(FILTER cuda_cpp INCLUDE REGEX ${folder})
  list(FILTER cuda_cpp EXCLUDE REGEX ${folder}seam/)
  list(REMOVE_ITEM sources ${cuda_cpp})
  target_sources(plimsoll PRIVATE ${sources})
  plimsoll_cuda_sources(${cuda} ${cuda_cpp})
endfunction()

# plimsoll_precompile(TARGET HEADER...): the standard library is parsed once for TARGET, and HEADERs
# with it: that is a second of the processor for each of its files. They still include what they
# use, as a build with -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON shows. ccache, as it is set up, keeps
# nothing that uses precompiled headers.
function(plimsoll_precompile target)
  if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
    target_precompile_headers(${target} PRIVATE
      <algorithm> <array> <cmath> <cstdint> <cstdio> <functional> <limits> <map> <memory> <mutex>
      <numeric> <optional> <set> <span> <sstream> <string> <string_view> <type_traits> <utility>
      <vector> ${ARGN})
  endif()
endfunction()

# plimsoll_precompile_as(TARGET OTHER): the headers that OTHER has, where both have the same flags.
function(plimsoll_precompile_as target other)
  if(NOT CMAKE_CXX_COMPILER_LAUNCHER AND NOT PLIMSOLL_ARCH STREQUAL levels)
    target_precompile_headers(${target} REUSE_FROM ${other})
  endif()
endfunction()
