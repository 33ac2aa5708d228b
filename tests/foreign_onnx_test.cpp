// ONNX's node tests: every folder with a model.onnx, its inputs and the outputs that are expected.
// A case passes when all outputs have the expected types, shapes and values; one that says
// something the engine or this reader does not have is skipped with the reason. Needs
// PLIMSOLL_FOREIGN.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

#include "tests/foreign.h"
#include "tests/foreign_onnx.h"
#include "tests/op_case.h"

namespace plimsoll::onnx {
namespace {

namespace fs = std::filesystem;
using Values = std::map<std::string, Tensor>;

void run_node(const Graph& graph, const Node& node, Values& values) {
  const auto found = all_ops().find(node.op);
  check<Unsupported>(found != all_ops().end(), "no op ", node.op);
  const auto opset = graph.opsets.find(node.domain == "ai.onnx" ? "" : node.domain);
  OpCall call{node, opset == graph.opsets.end() ? 0 : opset->second, {}};
  for (const std::string& name : node.inputs)
    call.in.push_back(name.empty() ? Tensor() : values.at(name));
  const std::vector<Tensor> out = found->second(call);
  for (const std::string& name : node.unread()) fail<Unsupported>("attribute ", name);
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) continue;
    check<Unsupported>(i < out.size() && out[i].defined(), "output ", i, " of ", node.op);
    values[node.outputs[i]] = out[i];
  }
}

double tolerance(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return 1e-12;
    case DType::f32:
      return 2e-6;
    case DType::f16:
      return 5e-3;
    case DType::bf16:
      return 2e-2;
    default:
      return 0;
  }
}

// "" or what is wrong.
std::string compare(const std::string& name, const Tensor& actual, const Tensor& expected) {
  if (actual.meta() != expected.meta())
    return cat(" ", name, " is ", actual.meta(), " instead of ", expected.meta());
  const double error = relative_error(to_array(contiguous(actual)), to_array(contiguous(expected)));
  const double allowed = tolerance(expected.dtype());
  return error <= allowed ? "" : cat(" ", name, " is off by ", error);
}

std::string run_case(const fs::path& folder) {
  const Graph graph = read_model(foreign::read_bytes(folder / "model.onnx"));
  check<Unsupported>(graph.other_type.empty(), graph.other_type, " is not a tensor");
  Values values = graph.constants;
  const auto file = [&](const char* kind, size_t k) {
    return read_tensor(foreign::read_bytes(folder / cat(kind, "_", k, ".pb")));
  };
  for (size_t k = 0; k < graph.inputs.size(); ++k)
    if (fs::exists(folder / cat("input_", k, ".pb"))) values[graph.inputs[k]] = file("input", k);
  for (const Node& node : graph.nodes) run_node(graph, node, values);
  std::string wrong;
  for (size_t k = 0; k < graph.outputs.size(); ++k)
    wrong += compare(graph.outputs[k], values.at(graph.outputs[k]), file("output", k));
  return wrong;
}

TEST(foreign, onnx_node) {
  NEEDS_FOREIGN();
  std::vector<fs::path> folders;
  for (const auto& entry : fs::recursive_directory_iterator(*foreign::folder() / "onnx_node"))
    if (entry.path().filename() == "model.onnx") folders.push_back(entry.path().parent_path());
  std::sort(folders.begin(), folders.end());
  int passed = 0, skipped = 0;
  for (const fs::path& folder : folders) {
    const std::string name = folder.filename().string();
    std::string wrong;
    try {
      wrong = run_case(folder);
    } catch (const Unsupported& reason) {
      std::cout << "skipped: " << name << ": " << reason.what() << "\n";
      ++skipped;
      continue;
    } catch (const std::exception& error) {
      wrong = error.what();
    }
    EXPECT_EQ(wrong, "") << name;
    passed += wrong.empty();
  }
  const int all = static_cast<int>(folders.size());
  std::cout << "onnx_node: " << all << " cases, " << passed << " passed, " << skipped
            << " skipped, " << all - passed - skipped << " failed\n";
  if (all == 190) {  // the folder that this was written with
    EXPECT_GE(passed, 188);
  }
}

}  // namespace
}  // namespace plimsoll::onnx
