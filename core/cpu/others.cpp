#include "core/cpu/others.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace plimsoll {
namespace {

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

// Seconds that all cores have been busy, but for this process.
double busy_with_others() {
  std::ifstream stat("/proc/stat");
  std::string cpu;
  double user = 0, nice = 0, system = 0, idle = 0, waiting = 0, irq = 0, soft_irq = 0, stolen = 0;
  stat >> cpu >> user >> nice >> system >> idle >> waiting >> irq >> soft_irq >> stolen;
  if (!stat) return 0;
  rusage own{};
  getrusage(RUSAGE_SELF, &own);
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  return (user + nice + system + irq + soft_irq + stolen) / ticks - seconds(own.ru_utime) -
         seconds(own.ru_stime);
}

}  // namespace

OthersLoad::OthersLoad() : begin_(std::chrono::steady_clock::now()), before_(busy_with_others()) {}

double OthersLoad::cores() const {
  constexpr double kShortest = 0.2;
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin_;
  if (passed.count() < kShortest) return 0;
  return std::max(0.0, (busy_with_others() - before_) / passed.count());
}

}  // namespace plimsoll
