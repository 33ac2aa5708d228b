# plimsoll_op(FOLDER): the folder ops/FOLDER holds ops that belong together; NAME is its last part.
#   NAME.h         public functions
#   *.cu           joins the CUDA half
#   *.cpp          joins the library; one of them defines `const std::vector<const OpDef*> NAME_ops`
#   NAME_test.cpp  joins the tests; defines `OpCases NAME_cases()` (tests/op_case.h)
macro(plimsoll_op folder)
  get_filename_component(name ${folder} NAME)
  list(APPEND PLIMSOLL_OPS ${folder})
  list(APPEND PLIMSOLL_OP_TESTS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/${name}_test.cpp)
endmacro()

macro(plimsoll_ops_done)
  set(OP_INCLUDES "")
  set(OP_DECLARATIONS "")
  set(OP_LISTS "")
  set(CASE_DECLARATIONS "")
  set(CASE_LISTS "")
  foreach(folder ${PLIMSOLL_OPS})
    get_filename_component(name ${folder} NAME)
    string(APPEND OP_INCLUDES "#include \"ops/${folder}/${name}.h\"\n")
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
