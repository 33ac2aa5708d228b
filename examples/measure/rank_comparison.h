// The rows of compare_memory --ranks: what each of so many ranks takes, planned by this process
// alone; and measured on every one of them where this thread has so many (RanksScope).
//
//   const RankRow row = compare_ranks({.model = model, .batch = 32}, /*steps=*/5, /*seed=*/1);
//   print_rank_row(row);
#pragma once

#include <string>
#include <vector>

#include "examples/common/report.h"
#include "examples/measure/fitting.h"

namespace plimsoll::examples {

struct RankCase {
  FitModel model;  // with its ranks
  Precision precision = Precision::f32;
  int64_t batch = 32;
};

struct RankRow {
  RankCase c;
  int64_t planned_bytes = 0;  // of one rank: of each of them
  BytesByClass at_peak{};     // of them, when most is held
  // Of each rank: its pool's peak. None where they are not there.
  std::vector<int64_t> measured_bytes{};
  uint64_t digest = 0;    // where it was measured: of every bit of all losses, by batch
  bool same_bits = true;  // as the first measured row of that model, batch and type
};

// A model of compare_memory --models for ranks that share windows of `accumulate` batches.
FitModel shared_model(const std::string& name, int64_t accumulate);

// All ranks call it together. The batches are synthetic ones, another for each of a window.
RankRow compare_ranks(const RankCase& c, int steps, uint64_t seed);

// What must hold where it was measured: planned = measured on all ranks, and the bits.
bool keeps_ranks_promises(const RankRow& row);

void print_rank_head();
void print_rank_row(const RankRow& row);
Json to_json(const RankRow& row);

}  // namespace plimsoll::examples
