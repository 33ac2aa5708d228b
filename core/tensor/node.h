// Node: one applied op on the tape. It holds Values, never Tensors, so a tape has no cycles: a
// tensor owns its node, a node owns the nodes of its inputs, and nothing points back.
#pragma once

#include <string>
#include <vector>

#include "core/tensor/attrs.h"
#include "core/tensor/value.h"

namespace plimsoll {

struct OpDef;
struct Node;

// Where a tensor comes from on the tape: number `output` of those of `node`. Without one the tensor
// is a constant and needs no gradient.
struct Edge {
  std::shared_ptr<Node> node;
  int output = 0;
};

struct Node {
  const OpDef* op = nullptr;  // nullptr: a leaf, made by Tensor::require_grad()
  Attrs attrs;
  std::vector<Edge> parents;                        // one per input
  Metas in_metas, out_metas;                        // shapes cost nothing and are always kept
  std::vector<Value> in, out;                       // what vjp reads; others have no storage
  std::vector<uint32_t> in_versions, out_versions;  // of those storages when they were saved
  const std::string* module = nullptr;  // it was applied in (core/engine/module_scope.h)
  uint64_t seq = 0;       // order of creation: descending seq is a valid backward order
  bool released = false;  // saved values were freed by a backward pass
  Value grad;             // leaves only: what backward() has added up so far

  Node();
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  void release();                                          // drops the saved values
  static uint64_t next_seq() { return next_seq_.load(); }  // what the next node will have
  static int64_t live() { return live_.load(); }

 private:
  static inline std::atomic<int64_t> live_ = 0;
  static inline std::atomic<uint64_t> next_seq_ = 0;
};

}  // namespace plimsoll
