# The CUDA half: the .cu files beside the ops and core/cuda, in a library of its own, plimsoll_cuda.
#
# Nothing else knows whether it is there. The engine declares what it needs of it as weak symbols
# (core/cuda/seam/cuda.h); a program that links plimsoll_all has them where this build has CUDA. The
# runtime is linked statically and the vendor's libraries are opened when the first op asks for
# them, so that such a program also runs on a machine without GPU or driver. The program's own
# project need not know CUDA: the runtime is a library that this one names, not CMake's choice for a
# language.
#
# It is built where nvcc 13 and the headers of cuDNN and cuBLAS are found. An older nvcc, or a
# toolkit without one of them, is no reason for a CPU user's build to fail.
include(CheckLanguage)
check_language(CUDA)
set(found OFF)
if(CMAKE_CUDA_COMPILER)
  execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --version OUTPUT_VARIABLE version ERROR_QUIET)
  get_filename_component(toolkit ${CMAKE_CUDA_COMPILER} DIRECTORY)
  find_path(PLIMSOLL_CUDNN_INCLUDE cudnn_backend.h HINTS ${toolkit}/../include)
  find_path(PLIMSOLL_CUBLAS_INCLUDE cublasLt.h HINTS ${toolkit}/../include)
  find_path(PLIMSOLL_NCCL_INCLUDE nccl.h HINTS ${toolkit}/../include)
  if(version MATCHES "release (1[3-9]|[2-9][0-9])\\." AND PLIMSOLL_CUDNN_INCLUDE
     AND PLIMSOLL_CUBLAS_INCLUDE)
    set(found ON)
  else()
    message(STATUS "PLIMSOLL_CUDA is off: ${CMAKE_CUDA_COMPILER} is older than 13, or "
                   "cudnn_backend.h or cublasLt.h is not found")
  endif()
endif()
option(PLIMSOLL_CUDA "Build the CUDA half (needs nvcc 13 and the headers of cuBLAS and cuDNN 9)"
       ${found})

# The engine and, where this build has one, its CUDA half.
add_library(plimsoll_all INTERFACE)
target_link_libraries(plimsoll_all INTERFACE plimsoll)

# plimsoll_cuda_sources(FILE...): they join the CUDA half, if there is one, and its simulation.
function(plimsoll_cuda_sources)
  set_property(GLOBAL APPEND PROPERTY PLIMSOLL_CUDA_SOURCES ${ARGN})
endfunction()

if(PLIMSOLL_CUDA)
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES OFF)
    # Compiled once, for A100, then translated for H100 too; as PTX also for what came after it.
    set(PLIMSOLL_CUDA_CODE "--generate-code=arch=compute_80,code=[compute_80,sm_80,sm_90]")
  endif()
  enable_language(CUDA)
  # -O is for the host code of .cu files, which only launches; that of the device is at -O3 always.
  string(REPLACE "-O3" "-O1" CMAKE_CUDA_FLAGS_RELEASE "${CMAKE_CUDA_FLAGS_RELEASE}")
  find_package(CUDAToolkit REQUIRED)
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25.1 does not know that nvcc 13 has it
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  endif()
endif()

# nvcc reads the headers of a file four times, 3 s of the processor: more than most kernels take. So
# those of a subject are compiled as one file. Names of their own (in anonymous namespaces) must
# differ within a batch; a folder that is in none is compiled by itself.
set(PLIMSOLL_CUDA_BATCHES
  "runtime: core/cuda ops/pointwise/copy ops/pointwise/where ops/random/full ops/shape/view
            ops/shape/rearrange ops/update/increment"
  "functions: ops/pointwise/math"
  "activations: ops/pointwise/activations ops/pointwise/relu ops/pointwise/gelu
                ops/pointwise/softplus ops/loss/bce_with_logits"
  "arithmetic: ops/common ops/pointwise/arithmetic ops/pointwise/compare
               ops/pointwise/pow ops/loss/kl_div ops/loss/regression_loss ops/update/accumulate
               ops/update/accumulate_tree ops/collective/sum_parts"
  "reductions: ops/reduction/sum ops/reduction/prod ops/reduction/amax ops/reduction/variance
               ops/reduction/norm ops/reduction/logsumexp"
  "rows: ops/norm/layer_norm ops/norm/rms_norm ops/reduction/softmax ops/loss/cross_entropy
         ops/random/random ops/random/dropout"
  "attention: ops/attention/attention ops/attention/rope ops/loss/linear_cross_entropy
              ops/matmul/linear ops/matmul/matmul"
  "images: ops/conv/conv2d ops/pool/pool2d ops/pool/interpolate ops/norm/batch_norm"
  "others: ops/norm/group_norm ops/loss/nll_loss ops/reduction/extrema"
  "lookup: ops/indexing/embedding ops/indexing/gather ops/indexing/top_k ops/reduction/cumsum"
  "updates: ops/update/adam_update ops/update/sgd_update ops/update/adagrad_update
            ops/update/adamax_update ops/update/nadam_update ops/update/radam_update
            ops/update/rmsprop_update ops/update/global_norm ops/update/loss_scale
            ops/update/apply_mask")

# The sources with those of each batch replaced by one that includes them.
function(plimsoll_cuda_batches sources result)
  foreach(batch ${PLIMSOLL_CUDA_BATCHES})
    string(REGEX MATCH "^[^:]*" name ${batch})
    string(REGEX MATCHALL "[^ \n:]+" folders ${batch})
    set(includes "")
    foreach(source ${sources})
      cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE path)
      cmake_path(GET path PARENT_PATH folder)
      if(folder IN_LIST folders AND path MATCHES "\\.cu$")
        list(REMOVE_ITEM sources ${source})
        string(APPEND includes "#include \"${path}\"\n")
      endif()
    endforeach()
    set(file ${PROJECT_BINARY_DIR}/generated/cuda/${name}.cu)
    file(CONFIGURE OUTPUT ${file} CONTENT "${includes}" @ONLY)
    list(APPEND sources ${file})
  endforeach()
  set(${result} ${sources} PARENT_SCOPE)
endfunction()

# Call once all parts have joined.
function(plimsoll_cuda_library)
  if(NOT PLIMSOLL_CUDA)
    return()
  endif()
  get_property(sources GLOBAL PROPERTY PLIMSOLL_CUDA_SOURCES)
  if(NOT PLIMSOLL_NCCL_INCLUDE)  # then there are no ranks on GPUs (core/cuda/seam/cuda_ranks.h)
    message(STATUS "Ranks cannot have GPUs: nccl.h is not found")
    list(FILTER sources EXCLUDE REGEX "/nccl_ranks\\.cpp$")
  endif()
  if(PLIMSOLL_ARCH STREQUAL levels)
    add_library(plimsoll_cuda SHARED)
    set_target_properties(plimsoll_cuda PROPERTIES
                          LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
    target_link_libraries(plimsoll_all INTERFACE -Wl,--push-state,--no-as-needed plimsoll_cuda
                                                 -Wl,--pop-state)
  else()
    add_library(plimsoll_cuda STATIC)
    target_link_libraries(plimsoll_all INTERFACE  # TARGET_NAME: it has another one in the package
                          $<LINK_LIBRARY:WHOLE_ARCHIVE,$<TARGET_NAME:plimsoll_cuda>>)
  endif()
  plimsoll_cuda_batches("${sources}" sources)
  target_sources(plimsoll_cuda PRIVATE ${sources})
  target_link_libraries(plimsoll_cuda PUBLIC plimsoll PRIVATE CUDA::cudart_static ${CMAKE_DL_LIBS})
  target_include_directories(plimsoll_cuda SYSTEM PRIVATE
    ${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES} ${PLIMSOLL_CUDNN_INCLUDE} ${PLIMSOLL_CUBLAS_INCLUDE}
    $<$<BOOL:${PLIMSOLL_NCCL_INCLUDE}>:${PLIMSOLL_NCCL_INCLUDE}>)
  set_target_properties(plimsoll_cuda PROPERTIES CUDA_RUNTIME_LIBRARY None)
  # The vendor's libraries are looked for there too (core/cuda/vendor/libraries.h).
  target_compile_definitions(plimsoll_cuda PRIVATE
                             PLIMSOLL_CUDA_FOLDER="${CMAKE_CUDA_COMPILER_TOOLKIT_ROOT}")
  # --expt-relaxed-constexpr: kernels call the engine's constexpr functions, formulas among them.
  target_compile_options(plimsoll_cuda PRIVATE
    $<$<COMPILE_LANGUAGE:CUDA>:${PLIMSOLL_CUDA_CODE} --expt-relaxed-constexpr
      -Xcompiler=-Wall,-Wextra,-fopenmp-simd>
    $<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${PLIMSOLL_WERROR}>>:-Werror=all-warnings>)
endfunction()
