// What fit knows of the network between ranks, and says of it.
//
//   AskedLink asked;
//   add_link_options(app, asked);      // --link-gbytes G --link-us U
//   check_link(app);                   // when the words are known
//   options.link = link_of(asked, ranks);
//   print_lanes(fit.lanes, row);
#pragma once

#include "examples/common/command_line.h"
#include "examples/common/report.h"
#include "examples/measure/lanes.h"

namespace plimsoll::examples {

struct AskedLink {
  double gbytes = 0, microseconds = 20;  // 0: none was described
};

void add_link_options(CommandLine& app, AskedLink& asked);
// UsageError where one of them is said without what it needs.
void check_link(const CommandLine& app);
Link link_of(const AskedLink& asked, int64_t ranks);

// A line on stdout, and members of the row, in seconds.
void print_lanes(const Lanes& lanes, Json& row);

}  // namespace plimsoll::examples
