// ModuleScope: which module runs on this thread, so that what holds memory can be named as people
// name it: "blocks.3.attention".
//
//   const ModuleScope block("blocks"), third("3"), inner("attention");
//   current_module();                              // "blocks.3.attention"
//
// Nodes and instructions remember it, and a gradient is computed in the scope of what it is the
// gradient of. Names live as long as the process: a model has some hundred.
#pragma once

#include <string>

namespace plimsoll {

using ModuleName = const std::string*;  // equal names are one pointer; nullptr: outside of modules

class ModuleScope {
 public:
  // One deeper. An empty name changes nothing.
  explicit ModuleScope(const std::string& name);
  // That of a node, wherever this thread is.
  explicit ModuleScope(ModuleName whole);
  ~ModuleScope();
  ModuleScope(const ModuleScope&) = delete;
  ModuleScope& operator=(const ModuleScope&) = delete;

 private:
  ModuleName before_;
};

ModuleName current_module();

// "conv2d in module blocks.3.conv1", or the op alone.
std::string with_module(const std::string& op, ModuleName module);

}  // namespace plimsoll
