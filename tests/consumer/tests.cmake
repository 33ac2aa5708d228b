# The package: installed and found, and as part of another project. With this build's compiler and
# instructions, in build type Debug, which compiles faster.
if(PLIMSOLL_INSTALL)
  set(arguments -G${CMAKE_GENERATOR} -DCMAKE_BUILD_TYPE=Debug
      -DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER} -DPLIMSOLL_ARCH=${PLIMSOLL_ARCH}
      -DPLIMSOLL_CUDA=${PLIMSOLL_CUDA} -DPLIMSOLL_MPI=${PLIMSOLL_MPI})
  if(PLIMSOLL_SANITIZE)
    list(APPEND arguments -DCMAKE_CXX_FLAGS=-fsanitize=address,undefined)
  endif()
  set(libraries $<TARGET_FILE:plimsoll> $<TARGET_FILE:plimsoll_formats>)
  if(PLIMSOLL_CUDA)
    list(APPEND libraries $<TARGET_FILE:plimsoll_cuda>)
  endif()
  if(PLIMSOLL_MPI)
    list(APPEND libraries $<TARGET_FILE:plimsoll_mpi>)
    list(APPEND arguments -DMPI_CXX_COMPILER=${MPI_CXX_COMPILER})
  endif()
  set(ways install)
  if(CMAKE_GENERATOR STREQUAL Ninja)  # which can be asked for its commands
    list(APPEND ways source)
  endif()
  foreach(way ${ways})
    add_test(NAME consumer.${way}
             COMMAND ${CMAKE_COMMAND} -DWAY=${way} -DSOURCE=${PROJECT_SOURCE_DIR}
                     -DBUILD=${PROJECT_BINARY_DIR} "-DLIBRARIES=${libraries}"
                     -DNINJA=${CMAKE_MAKE_PROGRAM} -DWORK=${PROJECT_BINARY_DIR}/consumer.${way}
                     "-DARGUMENTS=${arguments}" -P ${CMAKE_CURRENT_LIST_DIR}/run.cmake)
  endforeach()
endif()
