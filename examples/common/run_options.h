// The command line around the training step: a run folder, saves, going on with a run, a config
// file.
//
//   add_run_options(app, options);
//   if (!parse_command_line(app, argc, argv, options)) return 0;   // it was printed
#pragma once

#include "examples/common/options.h"

namespace plimsoll::examples {

// --run, --resume, --evaluate, --save-every, --keep, --patience, --stop-after, --log-every,
// --config and --print-config.
void add_run_options(CommandLine& app, Options& options);

// Parses. Values come from the command line, else from the TOML file of --config, else from the
// config of the run that --resume names, else they are the program's; a run without one is named.
// Sets options.config to all of them. False when --print-config has printed that. Throws Exit;
// UsageError for keys that are no options, for --resume without a run and for one that is not
// there, for other --weights than those that a run which goes on began with, and for --export
// beside --plan-only.
bool parse_command_line(CommandLine& app, int argc, char** argv, Options& options);

// TrainOptions::noted: what may be edited in a run's config, or given anew, and changes its
// numbers.
std::vector<std::pair<std::string, std::string>> noted_of(const Options& options);

// Whether there is a state for --resume to go on from; where there is none, training begins.
// DataError for saves that cannot be listed.
bool goes_on(const Options& options);

}  // namespace plimsoll::examples
