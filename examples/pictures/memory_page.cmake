# memory_page.html becomes a string in the programs: generated/memory_page_html.h.
file(READ pictures/memory_page.html MEMORY_PAGE)
configure_file(pictures/memory_page_html.h.in
               ${PROJECT_BINARY_DIR}/generated/memory_page_html.h @ONLY)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS pictures/memory_page.html)
