#include "core/joined_calls.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "core/apply.h"

namespace plimsoll {
namespace {

// Calls of one op with equal attributes and as many operands each.
struct Waiting {
  const OpDef* op = nullptr;
  Attrs attrs;
  size_t inputs = 0, outputs = 0;  // of each call
  std::vector<View> in, out;       // one call's behind another's
  std::vector<std::shared_ptr<Storage>> held;
  size_t last = 0;  // the first in `held` of the last call
  int64_t kept = 0;
  std::unordered_set<const Storage*> touched, written;

  bool alike(const OpDef& other, const Attrs& other_attrs, size_t in_count,
             size_t out_count) const {
    return op == &other && attrs == other_attrs && inputs == in_count && outputs == out_count;
  }
  // Whether a call of the op with these inputs, and outputs of its own, can run beside the others.
  bool apart(std::span<const Tensor> more) const {
    for (size_t i = 0; i < more.size(); ++i) {
      const auto& others = has(op->mutates, static_cast<int>(i)) ? touched : written;
      if (others.contains(more[i].value().storage.get())) return false;
    }
    return true;
  }
  // Once the next call has come: what of the last one nobody else holds.
  void count_kept() {
    for (; last < held.size(); ++last)
      if (held[last].use_count() == 1) kept += held[last]->bytes();
  }
  void add(const Value& value, bool writes, std::vector<View>& views) {
    views.push_back(view_of(value));
    held.push_back(value.storage);
    touched.insert(value.storage.get());
    if (writes) written.insert(value.storage.get());
  }
};

thread_local int scopes = 0;
thread_local Waiting waiting;

}  // namespace

JoinedCalls::JoinedCalls() {
  make_waiting();
  ++scopes;
}

JoinedCalls::~JoinedCalls() {
  --scopes;
  waiting = {};
}

bool JoinedCalls::waits(const OpDef& op, const Attrs& attrs, std::span<const Tensor> inputs,
                        std::span<const Value> outputs) {
  if (scopes == 0) return false;
  const bool joins = op.mutates && inputs[0].device() == Device::cuda && !apply_mode().check_finite;
  int64_t bytes = 0;
  for (const Tensor& input : inputs) bytes += input.value().storage->bytes();
  waiting.count_kept();
  if (!joins || !waiting.alike(op, attrs, inputs.size(), outputs.size()) ||
      !waiting.apart(inputs) || std::max(bytes, waiting.kept) > kMostKept)
    make_waiting();
  if (!joins || bytes > kMostKept) return false;
  waiting.op = &op;
  waiting.attrs = attrs;
  waiting.inputs = inputs.size();
  waiting.outputs = outputs.size();
  for (size_t i = 0; i < inputs.size(); ++i)
    waiting.add(inputs[i].value(), has(op.mutates, static_cast<int>(i)), waiting.in);
  for (const Value& output : outputs) waiting.add(output, true, waiting.out);
  return true;
}

void JoinedCalls::make_waiting() {
  if (!waiting.op) return;
  const Waiting now = std::exchange(waiting, {});
  now.op->cuda({now.in, now.out, now.attrs, {}});
}

}  // namespace plimsoll
