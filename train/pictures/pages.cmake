# The pages become strings in the programs, with page.css and page.js in them: memory_page.html is
# kMemoryPage in generated/memory_page_html.h, the others likewise.
file(READ pictures/page.css STYLE)
file(READ pictures/page.js SCRIPT)
foreach(NAME MemoryPage ComparisonPage CurvesPage MistakesPage)
  string(REPLACE Page _page file ${NAME})
  string(TOLOWER ${file} file)
  file(READ pictures/${file}.html PAGE)
  string(REPLACE "@STYLE@" "${STYLE}" PAGE "${PAGE}")
  string(REPLACE "@SCRIPT@" "${SCRIPT}" PAGE "${PAGE}")
  configure_file(pictures/page_html.h.in ${PROJECT_BINARY_DIR}/generated/${file}_html.h @ONLY)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS pictures/${file}.html)
endforeach()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS pictures/page.css pictures/page.js)
