// Names of modules where memory is named: in programs, their gradients and recomputed pieces,
// plans, histories and out-of-memory messages.
#include <gtest/gtest.h>

#include <algorithm>

#include "autograd/gradients.h"
#include "memory/layout/memory_timeline.h"
#include "memory/pool/pooled_allocator.h"
#include "memory/step/step.h"
#include "nn/nn.h"
#include "ops/ops.h"

namespace plimsoll {
namespace {

struct Net : nn::Module {
  explicit Net(nn::Initializer& init, bool checkpointed)
      : body(add<nn::Sequential>("body")),
        head(add<nn::Linear>("head", 8, 3, init)),
        again(checkpointed) {
    body.then<nn::Linear>(4, 8, init).then<nn::ReLU>();
  }
  Tensor forward(const Tensor& x, const nn::Mode& mode) const override {
    return head(again ? nn::checkpointed(body, x, mode) : body(x, mode), mode);
  }
  nn::Sequential& body;
  const nn::Linear& head;
  bool again;
};

// "op in module" of each instruction.
std::vector<std::string> names(const Program& program) {
  std::vector<std::string> all;
  for (const Instruction& i : program.instructions)
    all.push_back(with_module(i.op->name, i.module));
  return all;
}

int count_of(const std::vector<std::string>& all, const std::string& name) {
  return static_cast<int>(std::ranges::count(all, name));
}

TEST(ModuleNames, AreOnForwardAndGradient) {
  for (const bool checkpointed : {false, true}) {
    nn::Initializer init{.seed = 1};
    const Net net(init, checkpointed);
    const auto step = [&](std::span<const Tensor> in) {
      const Tensor loss = sum(net(in[0], nn::training()));
      std::vector<Tensor> results = gradients(loss, net.parameters());
      results.push_back(loss);
      return results;
    };
    const std::vector<Meta> metas{{{2, 4}}};
    const std::vector<std::string> all = names(capture(step, metas));
    EXPECT_EQ(count_of(all, "linear in module body.0"), checkpointed ? 2 : 1);
    EXPECT_EQ(count_of(all, "linear in module head"), 1);
    EXPECT_GE(count_of(all, "sum"), 1) << "the loss is outside of modules";
    EXPECT_TRUE(std::ranges::any_of(all, [](const std::string& name) {
      return name.find("grad in module body.1") != std::string::npos;
    }));
  }
  EXPECT_EQ(current_module(), nullptr);
}

TEST(ModuleNames, AreInHistoriesAndMessages) {
  nn::Initializer init{.seed = 1};
  const Net net(init, false);
  const Tensor x = zeros({2, 4});
  const auto pool = std::make_shared<PooledAllocator>(host_provider());
  const AllocatorScope scope(pool);
  pool->keep_history(100);
  net(x);
  const std::vector<MemoryEvent> events = pool->history();
  EXPECT_TRUE(std::ranges::any_of(events, [](const MemoryEvent& event) {
    return event.kind == MemoryEvent::Kind::allocate &&
           with_module(event.op, event.module) == "linear in module head";
  }));
  pool->set_limit(64);
  try {
    net(x);
    FAIL() << "there was room";
  } catch (const OutOfMemory& e) {
    EXPECT_TRUE(std::string(e.what()).starts_with("relu in module body.1: out of memory on cpu"))
        << e.what();
  }
  EXPECT_EQ(current_module(), nullptr) << "what throws leaves its scopes";
}

}  // namespace
}  // namespace plimsoll
