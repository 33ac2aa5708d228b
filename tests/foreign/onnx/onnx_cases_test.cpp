// ONNX's node tests: every folder with a model.onnx, its inputs and the outputs that are expected.
// A case passes when all outputs have the expected types, shapes and values; one that says
// something the engine or this reader does not have is skipped with the reason. Needs
// PLIMSOLL_FOREIGN.
#include <gtest/gtest.h>

#include <algorithm>

#include "data/file.h"
#include "tests/foreign/foreign.h"
#include "tests/foreign/onnx/cases.h"
#include "tests/support/op_case.h"

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
std::string compare(const std::string& name, const Tensor& actual, const Tensor& expected,
                    double allowed) {
  if (actual.meta() != expected.meta())
    return cat(" ", name, " is ", actual.meta(), " instead of ", expected.meta());
  const double error = relative_error(to_array(contiguous(actual)), to_array(contiguous(expected)));
  return error <= allowed ? "" : cat(" ", name, " is off by ", error);
}

// Its expected values are written with four digits.
constexpr const char* kFourDigits = "test_averagepool_2d_ceil_last_window_starts_on_pad";

// Inputs and outputs lie beside the model, or, as ONNX itself has them, in folders of their own.
std::string run_case(const fs::path& folder) {
  const Graph graph = read_model(data::read_text(folder / "model.onnx"));
  check<Unsupported>(graph.other_type.empty(), graph.other_type, " is not a tensor");
  check<Unsupported>(!graph.outputs.empty(), "the model has no outputs");
  std::vector<fs::path> sets;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_directory()) sets.push_back(entry.path());
  if (sets.empty()) sets.push_back(folder);
  const bool few_digits = folder.filename() == kFourDigits;
  std::string wrong;
  for (const fs::path& set : sets) {
    Values values = graph.constants;
    const auto file = [&](const char* kind, size_t k) {
      return read_tensor(data::read_text(set / cat(kind, "_", k, ".pb")));
    };
    for (size_t k = 0; k < graph.inputs.size(); ++k)
      if (fs::exists(set / cat("input_", k, ".pb"))) values[graph.inputs[k]] = file("input", k);
    for (const Node& node : graph.nodes) run_node(graph, node, values);
    for (size_t k = 0; k < graph.outputs.size(); ++k) {
      const Tensor expected = file("output", k);
      wrong += compare(graph.outputs[k], values.at(graph.outputs[k]), expected,
                       few_digits ? 1e-3 : tolerance(expected.dtype()));
    }
  }
  return wrong;
}

// The folders of cases, by the folder that they lie in.
std::map<fs::path, std::vector<fs::path>> all_cases() {
  std::map<fs::path, std::vector<fs::path>> cases;
  for (const auto& entry : fs::recursive_directory_iterator(*foreign::folder()))
    if (entry.path().filename() == "model.onnx")
      cases[entry.path().parent_path().parent_path()].push_back(entry.path().parent_path());
  for (auto& [parent, folders] : cases) std::sort(folders.begin(), folders.end());
  return cases;
}

TEST(foreign, onnx_node) {
  NEEDS_FOREIGN();
  const auto cases = all_cases();
  if (cases.empty()) GTEST_SKIP() << "no folder there has a model.onnx";
  for (const auto& [parent, folders] : cases) {
    foreign::Tally<Unsupported> tally;
    for (const fs::path& folder : folders)
      tally.count(folder.filename().string(), [&] { return run_case(folder); });
    tally.print(parent.filename().string());
    if (tally.all == 190) {  // the folder that this was written with
      EXPECT_GE(tally.passed, 188);
    }
  }
}

}  // namespace
}  // namespace plimsoll::onnx
