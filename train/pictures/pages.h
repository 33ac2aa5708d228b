// Pages of this folder: HTML files that need no network, with their figures in them as JSON.
//
//   const Drawn runs[] = {{"as it runs", step.plan(metas), make_timeline(...)}};
//   file.write(memory_page("gpt", "batch 12, f32", runs));
//   file.write(comparison_page(rows, /*steps=*/5));
//
// Curves of runs are in curves.h.
#pragma once

#include <span>
#include <string>

#include "memory/layout/memory_timeline.h"
#include "train/json.h"
#include "train/predict/confusion.h"

namespace plimsoll::train {

struct Drawn {
  std::string name;
  const Plan& plan;
  MemoryTimeline timeline;
};

// The memory of a captured step, the last of `runs`: live bytes over the step by class, with the
// totals of the other runs as lines over it, the arena as address x time rectangles, the largest
// tensors at the peak, and a sentence on what holds it. Names may hold any UTF-8.
std::string memory_page(const std::string& title, const std::string& about,
                        std::span<const Drawn> runs);

// The rows of compare_memory, an array of to_json() of comparison_table.h: for each model and batch
// the peak of memory against time, and the table.
std::string comparison_page(const Json& rows, int steps);

struct PicturedMistake {
  Mistake mistake;
  std::string png;  // the content of a file
};

// What a net gets wrong: pictures with what they are and what they were taken for, in the order
// given, and the confusion matrix. `about`: the images.
std::string mistakes_page(const std::string& title, const std::string& about,
                          const Confusion& confusion, const Score& score,
                          std::span<const PicturedMistake> mistakes);

}  // namespace plimsoll::train
