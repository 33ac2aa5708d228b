// SharedBytes: under a budget a step has one program for each kind of input and each variant, and
// each counts what the others keep alive.
//
//   SharedBytes next = shared;                     // nothing has changed if planning throws
//   next.add(program, {...}, is_captured);
//   plan(program, budget - next.elsewhere(program, own));
//   shared = std::move(next);
#pragma once

#include <functional>

#include "core/engine/program.h"

namespace plimsoll {

class SharedBytes {
 public:
  // What one program alone keeps alive, or makes its caller keep.
  struct Own {
    int64_t variant;
    Metas inputs;
    int64_t constants, results;  // made by its capture; by each run

    bool is_for(int64_t of_variant, const Metas& of_inputs) const {
      return variant == of_variant && inputs == of_inputs;
    }
  };
  static constexpr size_t kMost = 9;  // programs that count; of those that are gone the first goes

  // Storages that were there before the program was captured, from number `first_inside` on they
  // are constants of its own, count once for all programs. Another with the same inputs is
  // replaced.
  void add(const Program& program, uint64_t first_inside, const Own& own,
           const std::function<bool(const Own&)>& is_captured);

  // What is kept alive besides what the program's own plan counts: what others hold, their
  // constants, and the results of the run before where that may be one of a program with larger
  // ones.
  int64_t elsewhere(const Program& program, const Own& own) const;

 private:
  std::vector<std::weak_ptr<Storage>> held_;
  std::vector<Own> own_;
};

// Of the constants that the capture of a program made: storages from that number on.
int64_t constant_bytes(const Program& program, uint64_t first_inside);

}  // namespace plimsoll
