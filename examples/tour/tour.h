// The chapters of docs/tour as functions: each prints what its page shows.
//
//   chapters()[0].print();             // tour 1
//
// What they print is the same on every machine: bytes that are planned or counted, costs of
// CostModel::model, never a time.
#pragma once

#include <span>
#include <string>

namespace plimsoll::tour {

void print_bytes();
void print_tape();
void print_gradient();
void print_program();
void print_lifetimes();
void print_arena();
void print_recompute();
void print_precision();
void print_pool();
void print_gpu();
void print_proof();

// Long sentences in lines of at most 90 letters.
std::string wrapped(const std::string& text);

struct Chapter {
  const char* title;
  void (*print)();
};
std::span<const Chapter> chapters();

}  // namespace plimsoll::tour
