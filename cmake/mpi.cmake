# Ranks over MPI (core/mpi): a library of its own, plimsoll_mpi, as the CUDA half is one. The engine
# declares what it needs of it as a weak symbol (core/ranks/mpi.h), so that everything builds, runs
# and passes without it. It is built where an MPI is found; -DMPI_CXX_COMPILER=mpicxx.mpich, or
# MPI_HOME, says which one.
set(MPI_CXX_SKIP_MPICXX ON)  # the C++ binding of old
find_package(MPI QUIET COMPONENTS CXX)
option(PLIMSOLL_MPI "Build ranks over MPI (needs Open MPI or MPICH)" ${MPI_CXX_FOUND})

# Call once the engine is there, after plimsoll_all.
function(plimsoll_mpi_library)
  if(NOT PLIMSOLL_MPI)
    return()
  endif()
  if(NOT MPI_CXX_FOUND)
    message(FATAL_ERROR "PLIMSOLL_MPI is on, and no MPI is found. Install libopenmpi-dev or "
                        "libmpich-dev, or name its compiler with -DMPI_CXX_COMPILER.")
  endif()
  if(PLIMSOLL_ARCH STREQUAL levels)
    add_library(plimsoll_mpi SHARED)
    set_target_properties(plimsoll_mpi PROPERTIES
                          LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
    target_link_libraries(plimsoll_all INTERFACE -Wl,--push-state,--no-as-needed plimsoll_mpi
                                                 -Wl,--pop-state)
  else()
    add_library(plimsoll_mpi STATIC)
    target_link_libraries(plimsoll_all INTERFACE  # TARGET_NAME: it has another one in the package
                          $<LINK_LIBRARY:WHOLE_ARCHIVE,$<TARGET_NAME:plimsoll_mpi>>)
  endif()
  target_sources(plimsoll_mpi PRIVATE ${PROJECT_SOURCE_DIR}/core/mpi/mpi_ranks.cpp)
  target_link_libraries(plimsoll_mpi PUBLIC plimsoll PRIVATE MPI::MPI_CXX)
endfunction()
