# Writes a C++ file that holds headers as text (core/cuda/generated.h).
#
#   cmake "-DHEADERS=a.h;b.h" -DSOURCE=folder -DOUTPUT=file.cpp -P embed.cmake
set(standard array bit cmath concepts cstdint functional limits numbers type_traits)
set(code "#include \"core/cuda/generated.h\"\n\nnamespace plimsoll::cuda {\nnamespace {\n\n")
string(APPEND code "const EmbeddedHeader headers[] = {\n")
foreach(header ${HEADERS})
  file(READ ${SOURCE}/${header} text)
  string(APPEND code "{\"${header}\", R\"~~(${text})~~\"},\n")
endforeach()
foreach(header ${standard})
  string(APPEND code "{\"${header}\", \"#include \\\"core/cuda/nvrtc_standard.h\\\"\\n\"},\n")
endforeach()
string(APPEND code "};\n\n}  // namespace\n\n"
                   "const std::span<const EmbeddedHeader> embedded_headers(headers);\n\n"
                   "}  // namespace plimsoll::cuda\n")
file(WRITE ${OUTPUT} "${code}")
