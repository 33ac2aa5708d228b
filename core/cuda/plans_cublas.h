// Products made ready for cuBLASLt: descriptors and an algorithm, made when a product is first
// asked for and kept for the process.
//
//   if (const CublasLt* lt = cublas()) return run_plan(*lt, key, operands);
#pragma once

#include <cublasLt.h>

#include <compare>

#include "core/cuda/epilogue.h"

namespace plimsoll::cuda {

struct CublasLt;

// nullptr when it cannot be had, which is said once.
const CublasLt* cublas();

size_t version_of(const CublasLt& lt);

// As cuBLAS sees a matrix, in columns: rows x columns, `leading` apart; perhaps turned.
struct CublasMatrix {
  cudaDataType_t type;
  int64_t rows, columns, leading, batch_step;
  bool turned;
  int alignment;  // of its address: a power of two
  auto operator<=>(const CublasMatrix&) const = default;
};

// What an algorithm is chosen by.
struct CublasKey {
  CublasMatrix a, b, c;
  int64_t batch;
  int row;  // alignment of the bias, or of the sums of an epilogue; 0: there is none
  uint64_t workspace;
  bool accumulate;  // never timed: its algorithm stays the one that the heuristic prefers
  Epilogue::Kind epilogue = Epilogue::Kind::none;
  int before = 0;  // alignment of what the epilogue is given besides; 0: nothing
  auto operator<=>(const CublasKey&) const = default;
};

// The operands of a call.
struct CublasOperands {
  const void *a, *b;
  void* c;
  const void *row, *before;
  bool accumulate;
  std::span<std::byte> workspace;
};

// Multiplies; false: cuBLAS has no algorithm for this, or refuses its epilogue.
bool run_plan(const CublasLt& lt, const CublasKey& key, const CublasOperands& operands);

}  // namespace plimsoll::cuda
