# PLIMSOLL_ARCH=levels: programs for every x86-64 since 2009 (x86-64-v2) that use what the processor
# has. The engine becomes a shared library, compiled once for each level of the instruction set:
#
#   lib/libplimsoll.so                            x86-64-v2: SSE4.2
#   lib/glibc-hwcaps/x86-64-v3/libplimsoll.so     AVX2, fused multiply-add
#   lib/glibc-hwcaps/x86-64-v4/libplimsoll.so     AVX-512
#
# When a program starts, glibc's loader (2.33 or later) takes the best that the processor has.
# LD_LIBRARY_PATH=lib/glibc-hwcaps/LEVEL decides otherwise; a level that the processor lacks is
# refused in one sentence. Compiled for each level are the folders with the hot loops; the
# rest of the library, and everything else, is compiled once, for x86-64-v2.
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  message(FATAL_ERROR "PLIMSOLL_ARCH=levels: not an x86-64: ${CMAKE_SYSTEM_PROCESSOR}. Use native.")
endif()
set(PLIMSOLL_LEVELS x86-64-v2 x86-64-v3 x86-64-v4)
set(PLIMSOLL_OF_LEVEL "(core/cpu|data/images|ops)/")

# plimsoll_level(TARGET LEVEL DIRECTORY): compiles TARGET for LEVEL into DIRECTORY. Functions of the
# library call those of their own level, never a program's copy of an inline function; data, such as
# static members, is one for the process.
function(plimsoll_level target level directory)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME plimsoll
                        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/${directory})
  # A processor without prefetchw takes it for an instruction that does nothing.
  target_compile_options(${target} PRIVATE -march=${level} -mprfchw)
  target_link_options(${target} PRIVATE -Wl,-Bsymbolic-functions -Wl,-z,${level})
endfunction()

# Call once all parts have joined the library.
function(plimsoll_levels)
  get_target_property(sources plimsoll SOURCES)
  get_target_property(includes plimsoll INCLUDE_DIRECTORIES)
  get_target_property(libraries plimsoll LINK_LIBRARIES)
  set(once ${sources})
  list(FILTER once EXCLUDE REGEX "^${PROJECT_SOURCE_DIR}/${PLIMSOLL_OF_LEVEL}")
  list(REMOVE_ITEM sources ${once})
  add_library(plimsoll.once OBJECT ${once})
  set_target_properties(plimsoll.once PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_include_directories(plimsoll.once PRIVATE ${includes})
  target_link_libraries(plimsoll.once PRIVATE ${libraries})
  plimsoll_precompile(plimsoll.once)
  list(APPEND sources $<TARGET_OBJECTS:plimsoll.once>)
  set_target_properties(plimsoll PROPERTIES SOURCES "${sources}")
  plimsoll_level(plimsoll x86-64-v2 lib)
  foreach(level x86-64-v3 x86-64-v4)
    add_library(plimsoll.${level} SHARED ${sources})
    target_include_directories(plimsoll.${level} PRIVATE ${includes})
    target_link_libraries(plimsoll.${level} PRIVATE ${libraries})
    # The first level shows whether sources include what they use, where it is built without.
    plimsoll_precompile(plimsoll.${level})
    set_target_properties(plimsoll.${level} PROPERTIES DISABLE_PRECOMPILE_HEADERS OFF)
    plimsoll_level(plimsoll.${level} ${level} lib/glibc-hwcaps/${level})
    add_dependencies(plimsoll plimsoll.${level})
  endforeach()
  # So that LD_LIBRARY_PATH can name every level in the same way.
  set(folder ${PROJECT_BINARY_DIR}/lib/glibc-hwcaps/x86-64-v2)
  file(MAKE_DIRECTORY ${folder})
  file(CREATE_LINK ../../libplimsoll.so ${folder}/libplimsoll.so SYMBOLIC)
endfunction()
