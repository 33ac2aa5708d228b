#include "examples/measure/link_options.h"

#include <cstdio>

#include "core/base/error.h"

namespace plimsoll::examples {

void add_link_options(CommandLine& app, AskedLink& asked) {
  app.add_option("--link-gbytes", asked.gbytes,
                 "What a rank sends and receives at a time, in 10^9 bytes a second [not counted]")
      ->check(positive_number());
  app.add_option("--link-us", asked.microseconds,
                 "What each exchange takes besides, in microseconds [20]")
      ->check(positive_number());
}

void check_link(const CommandLine& app) {
  check<UsageError>(app.count("--link-us") == 0 || app.count("--link-gbytes") > 0,
                    "--link-us: the link has no speed. Add --link-gbytes.");
  check<UsageError>(app.count("--link-gbytes") == 0 || app.count("--ranks") > 0,
                    "--link-gbytes: there are no ranks that it joins. Add --ranks.");
}

Link link_of(const AskedLink& asked, int64_t ranks) {
  return {.ranks = ranks,
          .bytes_per_second = 1e9 * asked.gbytes,
          .latency = asked.gbytes > 0 ? 1e-6 * asked.microseconds : 0};
}

void print_lanes(const Lanes& lanes, Json& row) {
  std::printf("%18s computes %.1f ms, exchanges %.1f ms beside, waits for %.1f ms of them\n", "",
              1e3 * lanes.computing, 1e3 * lanes.talking, 1e3 * lanes.exposed);
  row["computing_seconds"] = lanes.computing;
  row["talking_seconds"] = lanes.talking;
  row["exposed_seconds"] = lanes.exposed;
}

}  // namespace plimsoll::examples
