# Flags for everything in the tree.
#
# Kernels are plain loops that the compiler turns into vector code. They are optimised in every build
# type, because a matrix product is some 250 times slower without; -ffast-math is never used: it
# breaks exp() and the tests for NaN.
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
  # Where there is AVX-512, GCC and Clang prefer half of it; whole vectors are 1.2-1.4 times faster here.
  plimsoll_compile_options(-mprefer-vector-width=512)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  plimsoll_compile_options(-Wno-restrict)  # GCC 12 finds overlaps in std::string that are not (bug 105651)
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

# plimsoll_part(FOLDER...): the calling folder's sources, and those of the folders in it that are
# named, join the library. Tests lie beside the code they test and do not.
function(plimsoll_part)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  foreach(folder ${ARGN})
    file(GLOB more CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cpp)
    list(APPEND sources ${more})
  endforeach()
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  target_sources(plimsoll PRIVATE ${sources})
endfunction()
