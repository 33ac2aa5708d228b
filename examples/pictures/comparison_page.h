// The rows of compare_memory as one HTML page that needs no network: for each model and batch the
// peak of memory against time, and the table.
//
//   file.write(comparison_page(rows, /*steps=*/5));
//
// The page is comparison_page.html with the rows in it as JSON.
#pragma once

#include <string>

#include "examples/common/report.h"

namespace plimsoll::examples {

// rows: an array of to_json() of comparison_table.h.
std::string comparison_page(const Json& rows, int steps);

}  // namespace plimsoll::examples
