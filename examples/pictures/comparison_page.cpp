#include "examples/pictures/comparison_page.h"

#include "comparison_page_html.h"
#include "examples/pictures/page.h"

namespace plimsoll::examples {

std::string comparison_page(const Json& rows, int steps) {
  return page_with(kComparisonPage, {{"steps", steps}, {"rows", rows}});
}

}  // namespace plimsoll::examples
