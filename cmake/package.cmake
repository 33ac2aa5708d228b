# Being used by other projects, installed (find_package) or as source (FetchContent,
# add_subdirectory):
#
#   find_package(plimsoll 0.1 REQUIRED)
#   target_link_libraries(program PRIVATE plimsoll::plimsoll)
#
# plimsoll::plimsoll is the engine, with its CUDA half and ranks over MPI where this build has them;
# plimsoll::formats, plimsoll::published and plimsoll::train are the libraries beside it.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# plimsoll_package(): call once all libraries are there.
function(plimsoll_package)
  add_library(plimsoll::plimsoll ALIAS plimsoll_all)
  set_target_properties(plimsoll PROPERTIES EXPORT_NAME engine)
  set_target_properties(plimsoll_all PROPERTIES EXPORT_NAME plimsoll)
  set(targets plimsoll plimsoll_all)
  set(folders core ops autograd memory optim nn data)
  foreach(part formats published train)
    if(TARGET plimsoll_${part})
      add_library(plimsoll::${part} ALIAS plimsoll_${part})
      set_target_properties(plimsoll_${part} PROPERTIES EXPORT_NAME ${part})
      list(APPEND targets plimsoll_${part})
      if(NOT part STREQUAL published)  # it lies in nn
        list(APPEND folders ${part})
      endif()
    endif()
  endforeach()
  if(PLIMSOLL_CUDA)
    set_target_properties(plimsoll_cuda PROPERTIES EXPORT_NAME cuda)
    list(APPEND targets plimsoll_cuda)
  endif()
  if(PLIMSOLL_MPI)
    set_target_properties(plimsoll_mpi PROPERTIES EXPORT_NAME mpi)
    list(APPEND targets plimsoll_mpi)
  endif()
  if(NOT PLIMSOLL_INSTALL)
    return()
  endif()

  # Headers say "core/tensor/tensor.h": they get a folder of their own.
  set(headers ${CMAKE_INSTALL_INCLUDEDIR}/plimsoll)
  target_include_directories(plimsoll INTERFACE $<INSTALL_INTERFACE:${headers}>)
  install(DIRECTORY ${folders} DESTINATION ${headers} FILES_MATCHING PATTERN "*.h")
  install(DIRECTORY ${PROJECT_BINARY_DIR}/generated/ DESTINATION ${headers}
          FILES_MATCHING PATTERN "plimsoll.h" PATTERN "ops.h")
  install(TARGETS ${targets} EXPORT plimsollTargets)
  # The built-in text is the project's own sources: data/source.h, data/text/builtin_text.cpp.
  set(text ${CMAKE_INSTALL_DATADIR}/plimsoll/text)
  install(FILES README.md DESTINATION ${text})
  install(DIRECTORY docs core ops autograd memory optim nn data examples tests bench
          DESTINATION ${text} FILES_MATCHING PATTERN "*.md" PATTERN "*.h" PATTERN "*.cpp")
  target_compile_definitions(plimsoll INTERFACE
    $<INSTALL_INTERFACE:PLIMSOLL_TEXT="$<INSTALL_PREFIX>/${text}">)
  foreach(level x86-64-v3 x86-64-v4)  # the loader looks for them beside the library
    if(TARGET plimsoll.${level})
      install(FILES $<TARGET_FILE:plimsoll.${level}>
              DESTINATION ${CMAKE_INSTALL_LIBDIR}/glibc-hwcaps/${level})
    endif()
  endforeach()

  set(folder ${CMAKE_INSTALL_LIBDIR}/cmake/plimsoll)
  install(EXPORT plimsollTargets NAMESPACE plimsoll:: DESTINATION ${folder})
  get_target_property(type plimsoll TYPE)
  configure_package_config_file(cmake/plimsollConfig.cmake.in
    ${PROJECT_BINARY_DIR}/plimsollConfig.cmake INSTALL_DESTINATION ${folder})
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/plimsollConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)  # before 1.0 every minor version may break what was
  install(FILES ${PROJECT_BINARY_DIR}/plimsollConfig.cmake
                ${PROJECT_BINARY_DIR}/plimsollConfigVersion.cmake
                ${PROJECT_SOURCE_DIR}/cmake/Findutf8proc.cmake DESTINATION ${folder})
endfunction()
