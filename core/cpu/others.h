// How many of the machine's cores other programs have meanwhile.
//
//   const OthersLoad others;
//   measure();
//   if (others.cores() > 0.5) ...        // what was measured took longer than it does alone
#pragma once

#include <chrono>

namespace plimsoll {

class OthersLoad {
 public:
  OthersLoad();
  // On average since it was made, by /proc/stat, virtual machines of the same host included. 0
  // where there is no such file, and for times too short for its clock of hundredths.
  double cores() const;

 private:
  const std::chrono::steady_clock::time_point begin_;
  const double before_;  // seconds that all cores were busy, without this process
};

}  // namespace plimsoll
