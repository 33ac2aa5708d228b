// The rows of compare_memory as text and as JSON, and bytes as such tables have them.
//
//   print_head();
//   print_line({c, row, row.ms_per_step / first.ms_per_step, same_bits(row, first)});
#pragma once

#include "examples/common/report.h"
#include "examples/measure/comparison.h"

namespace plimsoll::examples {

// Mebibytes in a column of such a width; "-" where they are not known.
std::string cell(int64_t bytes, int width, bool known = true);
// By the names of the classes.
Json to_json(const BytesByClass& bytes);

struct Line {
  Case c;
  Measured row;
  double time_ratio;  // to the first row of the same model, batch and type
  bool same_bits;     // as that row
};

// What must hold for every row: the bits, planned = measured, the budget.
bool keeps_promises(const Line& line);

void print_head();
void print_line(const Line& line);
void print_failed(const Case& c, const std::string& why);  // a row that could not be measured
// What a row does not have is null: a plan in eager mode; bits and times where nothing was run.
Json to_json(const Line& line);

}  // namespace plimsoll::examples
