// place_offsets: offsets for buffers with lifetimes, in one arena as low as can be found.
//
//   place_offsets --input model.csv --output placed.csv                      # as low as possible
//   place_offsets --input model.csv --output placed.csv --capacity 1048576   # within a capacity
//   check_offsets --input model.csv --output placed.csv --capacity 1048576
//
// Reads `id,lower,upper,size`, writes the same with `offset`. Exit code: 0 a placement was written;
// 1 there is none within the capacity or none was found in time, and nothing was written; 2 bad
// input.
#include <chrono>
#include <iostream>
#include <limits>
#include <thread>

#include "core/base/error.h"
#include "data/output_file.h"
#include "examples/common/command_line.h"
#include "memory/layout/exact_offsets.h"
#include "tools/buffers_csv.h"

namespace plimsoll::tools {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr double kMostGreedy = 5;  // seconds

struct Options {
  std::string input, output;
  int64_t capacity = -1;  // none given
  bool minimize = false;
  double seconds = 60;
  int threads = 0;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The packing to write; without offsets when there is none, and then `sentence` says why.
Packing find(std::span<const Box> boxes, const Options& options, std::string& sentence) {
  const auto start = std::chrono::steady_clock::now();
  const bool minimizes = options.minimize || options.capacity < 0;
  const int64_t capacity = options.capacity < 0 ? kMost : options.capacity;
  Packing packing{.offsets = {}, .height = kMost, .lower_bound = live_peak(boxes).bytes};
  if (packing.lower_bound > capacity) {
    sentence = cat("impossible: ", packing.lower_bound,
                   " bytes are alive at one moment, and the "
                   "capacity is ",
                   capacity);
    return packing;
  }
  // Greedy orders have the time where there is no other search: hard sets need the exact one.
  const double greedy = std::min(kMostGreedy, options.seconds) * kPairsPerSecond;
  packing = boxes.size() > kMostBoxes
                ? place(boxes, std::max(kFewPairs, static_cast<int64_t>(greedy)),
                        minimizes ? 0 : capacity)
                : place(boxes);
  const auto effort_left = [&] {
    return Effort{.seconds = options.seconds - seconds_since(start), .threads = options.threads};
  };
  if (packing.height > capacity) {
    const SearchedOffsets found = place_within(boxes, capacity, effort_left());
    packing.offsets = found.offsets;
    packing.height = 0;
    for (size_t i = 0; i < found.offsets.size(); ++i)
      packing.height = std::max(packing.height, found.offsets[i] + boxes[i].bytes);
    if (found.answer != Answer::placed) {
      sentence = found.answer == Answer::impossible
                     ? cat("impossible: no placement within ", capacity, " exists")
                 : !found.searched
                     ? cat("unknown: more than ", kMostBoxes,
                           " buffers hang together in time, too many to search for ", capacity)
                     : cat("unknown: no placement within ", capacity, " was found in ",
                           options.seconds, " s, and none is excluded");
      return packing;
    }
  }
  if (minimizes) packing = tighten(boxes, packing, effort_left());
  sentence = cat("placed: height ", packing.height, ", ",
                 packing.height == packing.lower_bound
                     ? std::string("no placement is lower")
                     : cat("no placement is lower than ", packing.lower_bound));
  return packing;
}

int place_file(const Options& options) {
  const Buffers buffers = read_buffers(options.input);
  const data::OutputFile output("--output", options.output);
  const BufferBoxes some = boxes_of(buffers);
  const auto start = std::chrono::steady_clock::now();
  std::string sentence;
  const Packing packing = find(some.boxes, options, sentence);
  std::cout << sentence << "; " << buffers.count() << " buffers, " << seconds_since(start)
            << " s\n";
  if (packing.offsets.size() != some.boxes.size() || sentence.starts_with("impossible")) return 1;
  std::vector<int64_t> offsets(buffers.count(), 0);  // where nothing is stored, anything will do
  for (size_t k = 0; k < some.buffer.size(); ++k) offsets[some.buffer[k]] = packing.offsets[k];
  output.write(offsets_csv(buffers, offsets));
  return 0;
}

int run(int argc, char** argv) {
  Options options;
  examples::CommandLine app(
      "Places buffers with lifetimes in one arena, so that none that live together overlap.");
  app.add_option("--input", options.input, "CSV file: id,lower,upper,size")->required();
  app.add_option("--output", options.output, "CSV file to write: the same and offset")
      ->required()
      ->check(examples::not_empty());
  app.add_option("--capacity", options.capacity, "Bytes of the arena; none: as low as possible")
      ->check(examples::whole_number(0, kMost));
  app.add_flag("--minimize", options.minimize, "As low as possible, also below --capacity");
  app.add_option("--seconds", options.seconds, "Longest time to search")
      ->check(examples::positive_number())
      ->capture_default_str();
  app.add_option("--threads", options.threads, "CPU threads; 0: one per core")
      ->check(examples::whole_number(0, 1024))
      ->capture_default_str();
  try {
    app.parse(argc, argv);
    if (options.threads == 0) options.threads = std::max(1U, std::thread::hardware_concurrency());
    return place_file(options);
  } catch (const examples::Exit& exit) {
    return exit.print();
  } catch (const std::bad_alloc&) {
    std::cerr << "out of memory: the machine has no more\n";
    return 1;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 2;
  }
}

}  // namespace
}  // namespace plimsoll::tools

int main(int argc, char** argv) { return plimsoll::tools::run(argc, argv); }
