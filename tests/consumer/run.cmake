# cmake -DWAY=install|source -DSOURCE=... -DBUILD=... -DWORK=... [-DARGUMENTS=...] -P run.cmake
# Uses the build in BUILD as somebody else would: from a prefix it is installed to, or SOURCE as
# part of the consumer, of which then only the user's own file is compiled (the engine is built).
function(must_run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${ARGN}: ${code}\n${text}")
  endif()
  message(STATUS "${text}")
endfunction()

file(REMOVE_RECURSE ${WORK})
set(configure ${CMAKE_COMMAND} -S ${SOURCE}/tests/consumer -B ${WORK}/build ${ARGUMENTS})
if(WAY STREQUAL install)
  must_run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
  must_run(${configure} -DCMAKE_PREFIX_PATH=${WORK}/prefix)
  must_run(${CMAKE_COMMAND} --build ${WORK}/build)
  must_run(${CMAKE_COMMAND} -E chdir ${WORK} ${WORK}/build/consumer)
else()
  must_run(${configure} -DPLIMSOLL_SOURCE=${SOURCE})
  must_run(${CMAKE_COMMAND} --build ${WORK}/build --target objects)
endif()
file(REMOVE_RECURSE ${WORK})
