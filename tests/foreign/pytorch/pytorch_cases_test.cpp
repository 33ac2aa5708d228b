// PyTorch's own numbers. Of ops and small blocks: results and vector-Jacobian products in f64, f32
// and bf16 (tests/foreign/comparison.h). Of optimizers and clipping:
// tests/foreign/pytorch/optim.cpp. A case that says something the engine or the reader does not
// have is skipped with the reason. Needs PLIMSOLL_FOREIGN.
#include <gtest/gtest.h>

#include "data/file.h"
#include "tests/foreign/comparison.h"

namespace plimsoll {
namespace {

using namespace golden;

std::string run_op(const std::filesystem::path& folder, const Json& entry) {
  const std::string name = entry.at("name");
  const golden::Run* run = find_run(name);
  check<Unsupported>(run, "no such op");
  return Comparison(entry, foreign::read_safetensors(folder / (name + ".safetensors"))).wrong(*run);
}

TEST(foreign, pytorch_golden) {
  NEEDS_FOREIGN();
  const auto folders = folders_with("manifest.json");
  if (folders.empty()) GTEST_SKIP() << "no folder there has a manifest.json";
  for (const auto& folder : folders) {
    const Json manifest = parse_python(data::read_text(folder / "manifest.json"));
    foreign::Tally<Unsupported> tally;
    for (const Json& entry : manifest.at("cases")) {
      const std::string name = entry.at("name");
      tally.count(name, [&] {
        if (name.starts_with("traj_")) return run_trajectory(folder, manifest, entry);
        if (name.starts_with("clip_grad")) return run_clipping(folder, entry);
        return run_op(folder, entry);
      });
    }
    EXPECT_GT(tally.all, 0) << folder << " has no cases";
    tally.print(folder.filename().string());
    if (tally.all == 52) {  // the folder that this was written with
      EXPECT_EQ(tally.passed, 51);
    }
  }
}

// Cases of batch_norm in training also say what the running statistics were after it.
TEST(foreign, batch_norm_running_statistics) {
  NEEDS_FOREIGN();
  int cases = 0;
  for (const auto& folder : folders_with("manifest.json")) {
    const Json manifest = parse_python(data::read_text(folder / "manifest.json"));
    for (const Json& entry : manifest.at("cases")) {
      if (!entry.contains("tensors") || !entry.at("tensors").contains("after.running_mean"))
        continue;
      ++cases;
      const std::string name = entry.at("name");
      const Tensors file = foreign::read_safetensors(folder / (name + ".safetensors"));
      const Tensor x = contiguous(channels_last(file.at("in.x")));
      const Shape channels{x.size(-1)};
      const auto before = [&](const char* input, double initial) {
        const auto found = file.find(input);
        return found == file.end() ? full(channels, initial, {.dtype = DType::f64})
                                   : clone(found->second);
      };
      const Tensor mean = before("in.running_mean", 0), variance = before("in.running_var", 1);
      const BatchNormResult result = batch_norm(x, ones(channels, {.dtype = DType::f64}),
                                                zeros(channels, {.dtype = DType::f64}));
      update_running_stats(mean, variance, result.mean, result.variance,
                           entry.value("attrs", Json::object()).value("momentum", 0.1),
                           x.count() / x.size(-1));
      const auto off = [&](const Tensor& ours, const char* what) {
        return relative_error(array_of(ours), array_of(file.at(what)));
      };
      EXPECT_LE(off(mean, "after.running_mean"), 1e-12) << name;
      EXPECT_LE(off(variance, "after.running_var"), 1e-12) << name;
    }
  }
  if (cases == 0) GTEST_SKIP() << "no case there says what the running statistics were";
}

}  // namespace
}  // namespace plimsoll
