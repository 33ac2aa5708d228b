# Headers as text within the library (core/cuda/generated.h), for kernels compiled at run time.

# The headers that a file includes with quotes, and those that they include.
function(plimsoll_included file result)
  set(found ${file})
  set(rest ${file})
  while(rest)
    list(POP_FRONT rest next)
    file(STRINGS ${PROJECT_SOURCE_DIR}/${next} lines REGEX "^#include \"")
    foreach(line ${lines})
      string(REGEX REPLACE "^#include \"(.*)\".*" "\\1" header ${line})
      if(NOT header IN_LIST found)
        list(APPEND found ${header})
        list(APPEND rest ${header})
      endif()
    endforeach()
  endwhile()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

# plimsoll_embed_headers(RESULT HEADER STANDARD): writes a C++ file that holds HEADER, all that it
# includes, and STANDARD, which each header of the standard library is replaced by. It is written
# when the build is configured, which a change of any of them repeats: a command of the build would
# wait for the whole library, and so would all that links plimsoll_cuda.
function(plimsoll_embed_headers result header standard)
  plimsoll_included(${header} headers)
  set(code "#include \"core/cuda/generated.h\"\n\nnamespace plimsoll::cuda {\nnamespace {\n\n")
  string(APPEND code "const EmbeddedHeader headers[] = {\n")
  foreach(path ${headers} ${standard})
    file(READ ${PROJECT_SOURCE_DIR}/${path} text)
    string(APPEND code "{\"${path}\", R\"~~(${text})~~\"},\n")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${path})
  endforeach()
  foreach(name array bit cmath concepts cstdint functional limits numbers type_traits)
    string(APPEND code "{\"${name}\", \"#include \\\"${standard}\\\"\\n\"},\n")
  endforeach()
  string(APPEND code "};\n\n}  // namespace\n\n"
                     "const std::span<const EmbeddedHeader> embedded_headers(headers);\n\n"
                     "}  // namespace plimsoll::cuda\n")
  set(file ${PROJECT_BINARY_DIR}/generated/cuda/embedded_headers.cpp)
  file(WRITE ${file}.new "${code}")
  file(COPY_FILE ${file}.new ${file} ONLY_IF_DIFFERENT)
  set(${result} ${file} PARENT_SCOPE)
endfunction()
