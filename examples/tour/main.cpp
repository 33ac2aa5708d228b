// The numbers of the tour: `tour` lists its chapters, `tour 5` prints what chapter 5 shows. The
// pages lie in docs/tour; a test compares them with what this program prints.
#include "examples/tour/tour.h"

#include <cstdio>
#include <sstream>

#include "core/base/error.h"
#include "core/cpu/threads.h"

namespace plimsoll::tour {

std::string wrapped(const std::string& text) {
  std::string lines;
  size_t column = 0;
  std::istringstream words(text);
  for (std::string word; words >> word; column += word.size() + 1) {
    const bool full = column + word.size() > 90;
    if (full) column = 0;
    lines += (lines.empty() ? "" : full ? "\n" : " ") + word;
  }
  return lines;
}

std::span<const Chapter> chapters() {
  static constexpr Chapter all[] = {
      {"why training takes the memory it takes", print_bytes},
      {"a tensor and a tape", print_tape},
      {"one op and its gradient", print_gradient},
      {"the whole step as a program", print_program},
      {"lifetimes and in place", print_lifetimes},
      {"offsets and the lower bound", print_arena},
      {"recompute under a budget and its certificate", print_recompute},
      {"mixed precision and loss scaling", print_precision},
      {"the pool, and running out", print_pool},
      {"what a GPU changes", print_gpu},
      {"how all of it is proved", print_proof},
  };
  return all;
}

}  // namespace plimsoll::tour

int main(int argc, char** argv) try {
  using namespace plimsoll::tour;
  plimsoll::set_num_threads(1);  // some kernels have scratch memory for each thread
  const std::span<const Chapter> all = chapters();
  for (size_t i = 0; i < all.size(); ++i)
    if (argc == 2 && argv[1] == std::to_string(i + 1)) {
      all[i].print();
      return 0;
    }
  for (size_t i = 0; i < all.size(); ++i) std::printf("tour %-3zu %s\n", i + 1, all[i].title);
  if (argc == 1) return 0;
  std::fprintf(stderr, "tour: there is no such chapter: %s. Give one of the numbers above.\n",
               argc == 2 ? argv[1] : "several");
  return 2;
} catch (const plimsoll::Error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
