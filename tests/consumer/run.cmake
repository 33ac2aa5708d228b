# cmake -DWAY=install|source -DSOURCE=... -DBUILD=... -DLIBRARIES=... -DWORK=... [-DARGUMENTS=...]
#       -P run.cmake
# Uses the build in BUILD as somebody else would: from a prefix it is installed to, and then from
# another that this was moved to; or SOURCE as part of the consumer, linked with LIBRARIES of BUILD
# in place of what would be compiled again.
function(must_run)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY ${WORK}
                  RESULT_VARIABLE code OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${ARGN}: ${code}\n${text}")
  endif()
  message(STATUS "${text}")
endfunction()

file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
set(configure ${CMAKE_COMMAND} -S ${SOURCE}/tests/consumer -B ${WORK}/build ${ARGUMENTS})
if(WAY STREQUAL install)
  must_run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/first)
  file(RENAME ${WORK}/first ${WORK}/prefix)
  must_run(${configure} -DCMAKE_PREFIX_PATH=${WORK}/prefix)
  must_run(${CMAKE_COMMAND} --build ${WORK}/build)
  must_run(${WORK}/build/consumer "# Plimsoll")
  file(WRITE ${WORK}/prefix/share/plimsoll/text/A.md "of a package")  # the first to be read
  must_run(${WORK}/build/consumer "of a package")
else()
  must_run(${configure} -DPLIMSOLL_SOURCE=${SOURCE})
  set(object CMakeFiles/consumer.dir/main.cpp.o)
  must_run(${CMAKE_COMMAND} --build ${WORK}/build --target ${object})
  foreach(library ${LIBRARIES})
    file(RELATIVE_PATH path ${BUILD} ${library})
    get_filename_component(folder ${path} DIRECTORY)
    if(EXISTS ${WORK}/build/_deps/plimsoll-build/${path})
      message(FATAL_ERROR "${path} was built again: the consumer's main.cpp waited for it")
    endif()
    file(COPY ${library} DESTINATION ${WORK}/build/_deps/plimsoll-build/${folder})
  endforeach()
  execute_process(COMMAND ${NINJA} -C ${WORK}/build -t commands -s consumer
                  OUTPUT_VARIABLE link COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX REPLACE "^ninja: [^\n]*\n" "" link "${link}")
  must_run(sh -c "cd build && ${link}")
  must_run(${WORK}/build/consumer "# Plimsoll")
endif()
file(REMOVE_RECURSE ${WORK})
