#include "core/engine/module_scope.h"

#include <mutex>
#include <unordered_set>

#include "core/base/text.h"
#include "core/tensor/thread_state.h"

namespace plimsoll {
namespace {

ModuleName one_for_all(std::string name) {
  static std::mutex mutex;
  static auto* const names = new std::unordered_set<std::string>();  // outlives static tensors
  const std::lock_guard lock(mutex);
  return &*names->insert(std::move(name)).first;
}

}  // namespace

ModuleScope::ModuleScope(const std::string& name) : before_(thread_state().module) {
  if (!name.empty()) thread_state().module = one_for_all(before_ ? cat(*before_, ".", name) : name);
}

ModuleScope::ModuleScope(ModuleName whole) : before_(thread_state().module) {
  thread_state().module = whole;
}

ModuleScope::~ModuleScope() { thread_state().module = before_; }

ModuleName current_module() { return thread_state().module; }

std::string with_module(const std::string& op, ModuleName module) {
  return module ? cat(op, " in module ", *module) : op;
}

}  // namespace plimsoll
