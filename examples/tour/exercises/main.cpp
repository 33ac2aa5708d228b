// Says whether an exercise is solved: `exercise 2`. Exit code 0: solved, 1: not yet, 2: usage.
#include <cstdio>
#include <cstring>

#include "examples/tour/exercises/exercises.h"

int main(int argc, char** argv) {
  using namespace plimsoll::exercises;
  constexpr Verdict (*kChecks[])() = {check_softsign, check_placement, check_policy};
  const int number = argc == 2 && std::strlen(argv[1]) == 1 ? argv[1][0] - '0' : 0;
  if (number < 1 || number > 3) {
    std::fprintf(stderr, "exercise: which one is not said. Give its number: 1, 2 or 3.\n");
    return 2;
  }
  try {
    const Verdict verdict = kChecks[number - 1]();
    std::printf("exercise %d: %s: %s\n", number, verdict.solved ? "solved" : "not solved yet",
                verdict.text.c_str());
    return verdict.solved ? 0 : 1;
  } catch (const std::exception& e) {
    std::printf("exercise %d: not solved yet: it throws: %s\n", number, e.what());
    return 1;
  }
}
