# plimsoll_op(NAME): the folder ops/NAME holds one family of ops.
#   NAME.h         public functions
#   *.cu           joins the CUDA half
#   *.cpp          joins the library; one of them defines `const std::vector<const OpDef*> NAME_ops`
#   NAME_test.cpp  joins the tests; defines `OpCases NAME_cases()` (tests/op_case.h)
macro(plimsoll_op name)
  list(APPEND PLIMSOLL_OPS ${name})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  target_sources(plimsoll PRIVATE ${sources})
  file(GLOB kernels CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cu)
  plimsoll_cuda_sources(${kernels})
  list(APPEND PLIMSOLL_OP_TESTS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/${name}_test.cpp)
endmacro()

macro(plimsoll_ops_done)
  set(OP_INCLUDES "")
  set(OP_DECLARATIONS "")
  set(OP_LISTS "")
  set(CASE_DECLARATIONS "")
  set(CASE_LISTS "")
  foreach(name ${PLIMSOLL_OPS})
    string(APPEND OP_INCLUDES "#include \"ops/${name}/${name}.h\"\n")
    string(APPEND OP_DECLARATIONS "extern const std::vector<const OpDef*> ${name}_ops;\n")
    string(APPEND OP_LISTS "    &${name}_ops,\n")
    string(APPEND CASE_DECLARATIONS "OpCases ${name}_cases();\n")
    string(APPEND CASE_LISTS "    {\"${name}\", ${name}_cases},\n")
  endforeach()
  configure_file(${PROJECT_SOURCE_DIR}/cmake/ops.h.in ${PROJECT_BINARY_DIR}/generated/ops/ops.h)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/all_ops.cpp.in
                 ${PROJECT_BINARY_DIR}/generated/all_ops.cpp)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/all_cases.cpp.in
                 ${PROJECT_BINARY_DIR}/generated/all_cases.cpp)
  target_sources(plimsoll PRIVATE ${PROJECT_BINARY_DIR}/generated/all_ops.cpp)
  set_property(GLOBAL PROPERTY PLIMSOLL_OP_TESTS ${PLIMSOLL_OP_TESTS})
endmacro()
