// What train_steps and tune_steps answer with, as torch_steps.py and torch_tuning.py do: one line
// of JSON for each number of steps that is asked for.
//
//   while (std::cin >> n) answer(n, done, [&](size_t i) { return step(i); }, [&] { return more; });
#pragma once

#include <chrono>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "examples/common/report.h"

namespace plimsoll::examples {

// The most memory this process has held so far, in KiB.
inline int64_t peak_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::stoll(line.substr(6));
  return 0;
}

// Makes the steps done, done + 1, ... of `step`, which returns the loss of one, and prints
// {"ms": [...], "loss": [...]} with the fields that `more` returns after them.
template <class Step, class More>
void answer(int64_t n, size_t& done, const Step& step, const More& more) {
  std::vector<double> ms, losses;
  for (int64_t i = 0; i < n; ++i, ++done) {
    const auto start = std::chrono::steady_clock::now();
    losses.push_back(step(done));
    ms.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
                     .count());
  }
  Json line = more();
  line["ms"] = ms;
  line["loss"] = losses;
  std::cout << line.dump() << std::endl;
}

}  // namespace plimsoll::examples
