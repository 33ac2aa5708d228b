// What --report, --snapshot and --trace write.
#include "memory/pool/pooled_allocator.h"
#include "tests/data/testing.h"
#include "tests/examples/testing.h"
#include "tests/support/memory_ops.h"
#include "train/pictures/exports.h"
#include "train/pictures/pages.h"

namespace plimsoll::examples {
namespace {

using namespace memory_test;
using data::TemporaryFolder;
using train::Drawn;
using train::Json;
using train::memory_page;
using train::pickle;
using train::planned_events;
using train::snapshot;
using train::trace;

struct Planned {
  Program program = capture(
      [](std::span<const Tensor> in) {
        const Tensor x = scale(in[0], 2);
        return std::vector{plus(scan(flip(x)), x)};
      },
      std::vector{vec(1024)});
  Plan plan = make_plan(program);
  MemoryTimeline timeline = make_timeline(program, plan);
};

// Replays a snapshot's trace and checks it against its segments; returns its peak in bytes.
int64_t replayed_peak(const Json& snapshot) {
  std::map<int64_t, int64_t> blocks;
  int64_t live = 0, peak = 0;
  bool unknown = false;
  for (const Json& event : snapshot["device_traces"][0]) {
    const std::string action = event["action"];
    const int64_t address = event["addr"], size = event["size"];
    EXPECT_LT(address + size, int64_t{1} << 53);
    unknown = unknown || event["category"] == "unknown";
    if (action == "alloc") {
      EXPECT_TRUE(blocks.emplace(address, size).second) << "held twice: " << event;
      peak = std::max(peak, live += size);
    } else if (action == "free_completed") {
      EXPECT_EQ(blocks[address], size) << event;
      blocks.erase(address);
      live -= size;
    }
  }
  EXPECT_TRUE(unknown) << "the viewer fails without such a category";
  for (const Json& segment : snapshot["segments"]) {
    int64_t next = segment["address"];
    for (const Json& block : segment["blocks"]) {
      EXPECT_EQ(block["address"], next);
      if (block["state"] == "active_allocated") {
        EXPECT_EQ(blocks[next], block["size"]);
        blocks.erase(next);
      }
      next += block["size"].get<int64_t>();
    }
    EXPECT_EQ(next, segment["address"].get<int64_t>() + segment["total_size"].get<int64_t>());
  }
  EXPECT_TRUE(blocks.empty()) << "a block lies in no segment";
  return peak;
}

TEST(Pictures, ASnapshotOfAPlanPeaksWhereThePlanDoes) {
  const Planned step;
  EXPECT_EQ(replayed_peak(snapshot(planned_events(step.timeline, step.plan))),
            step.plan.lower_bound + step.plan.pinned_bytes + step.plan.input_bytes);
}

TEST(Pictures, ASnapshotOfAPoolPeaksWhereThePoolDid) {
  PooledAllocator pool(host_provider());
  void* before = pool.allocate(64, MemoryClass::input, "before");
  pool.trim();
  pool.keep_history(1000);
  void* a = pool.allocate(3 << 20, MemoryClass::activation, "conv");
  void* b = pool.allocate(5000, MemoryClass::gradient, "conv_grad");
  pool.deallocate(before, 64, MemoryClass::input);
  pool.deallocate(a, 3 << 20, MemoryClass::activation);
  void* c = pool.allocate(1 << 20, MemoryClass::activation, "relu");
  const Json json = snapshot(pool.history());
  // The second block lies in a segment that was there before the history began.
  ASSERT_EQ(json["segments"].size(), 1U);
  EXPECT_EQ(json["device_traces"][0].size(), 6U) << json.dump(1);
  pool.deallocate(b, 5000, MemoryClass::gradient);
  pool.deallocate(c, 1 << 20, MemoryClass::activation);
  pool.trim();
  EXPECT_EQ(snapshot(pool.history())["segments"].size(), 0U);
  EXPECT_EQ(replayed_peak(snapshot(pool.history())), (3 << 20) + block_bytes(5000));
}

TEST(Pictures, APickleIsPythons) {
  using namespace std::string_literals;
  EXPECT_EQ(pickle({{"a", Json::array({true, nullptr, "\u00e9"})}}),
            "\x80\x02}(X\x01\0\0\0a](\x88NX\x02\0\0\0\xc3\xa9\x65u."s);
  EXPECT_EQ(pickle(-2), "\x80\x02\x8a\x08\xfe\xff\xff\xff\xff\xff\xff\xff."s);
  EXPECT_EQ(pickle(Json::array()), "\x80\x02]."s);
  Json long_list = Json::array();
  for (int i = 0; i < 1001; ++i) long_list.push_back(nullptr);
  EXPECT_EQ(pickle(long_list), "\x80\x02](" + std::string(1000, 'N') + "e(Ne.");
  EXPECT_EQ(pickle(Json::object()), "\x80\x02}(u."s);
  expect_error<ValueError>([] { pickle(0.5); },
                           "pickle: it takes no number that is not a whole number: 0.5. Round it.");
}

TEST(Pictures, ATraceHasASliceForEachInstructionAndACounter) {
  const Planned step;
  const std::vector<double> seconds{1e-6, 2e-6, 3e-6, 4e-6};
  const Json json = trace(step.timeline, seconds);
  double end = 0;
  size_t slices = 0;
  int64_t peak = 0;
  for (const Json& event : json["traceEvents"]) {
    if (event["ph"] == "X") {
      EXPECT_NEAR(event["ts"], end, 1e-9);
      EXPECT_NEAR(event["dur"], 1e6 * seconds[slices], 1e-9);
      EXPECT_EQ(event["name"], step.program.instructions[slices].op->name);
      end = event["ts"].get<double>() + event["dur"].get<double>();
      ++slices;
    } else if (event["ph"] == "C") {
      int64_t live = 0;
      for (const auto& [name, bytes] : event["args"].items()) live += bytes.get<int64_t>();
      peak = std::max(peak, live);
    }
  }
  EXPECT_EQ(slices, seconds.size());
  EXPECT_EQ(peak, step.plan.lower_bound + step.plan.pinned_bytes + step.plan.input_bytes);
}

TEST(Pictures, NamesCannotLeaveTheScriptOfThePage) {
  const Planned step;
  const Drawn runs[] = {{"</script><b>", step.plan, step.timeline}};
  const std::string page = memory_page("</script>\xff", "<!--", runs);
  EXPECT_EQ(page.find("</script><b>"), std::string::npos);
  EXPECT_NE(page.find("\\u003c/script>\\u003cb>"), std::string::npos);
  EXPECT_NE(page.find("\"about\":\"\\u003c!--\""), std::string::npos);
  EXPECT_EQ(page.find("@DATA@"), std::string::npos);
  for (const char* outside : {"src=", "href=", "url(", "fetch(", "import"})
    EXPECT_EQ(page.find(outside), std::string::npos) << "it needs " << outside;
}

TEST(Pictures, AreDrawnByTheExamples) {
  const TemporaryFolder dir;
  const std::string small = " --layers 2 --width 32 --context 16 --cost model --plan-seconds 0.2";
  const Outcome planned = run("train_transformer --plan-only --budget 2MiB" + small + " --report " +
                              dir.text("gpt.html") + " --snapshot " + dir.text("gpt.json") +
                              " --trace " + dir.text("trace.json"));
  ASSERT_EQ(planned.code, 0) << planned.output;
  const std::string page = data::read_text(dir / "gpt.html");
  EXPECT_NE(page.find("\"name\":\"without recompute\""), std::string::npos);
  EXPECT_NE(page.find("\"budget\":2097152"), std::string::npos);
  EXPECT_GT(replayed_peak(Json::parse(data::read_text(dir / "gpt.json"))), 0);
  EXPECT_GT(Json::parse(data::read_text(dir / "trace.json"))["traceEvents"].size(), 100U);

  const Outcome eager = run("train_transformer --mode eager --steps 3" + small + " --snapshot " +
                            dir.text("eager.json"));
  ASSERT_EQ(eager.code, 0) << eager.output;
  EXPECT_GT(replayed_peak(Json::parse(data::read_text(dir / "eager.json"))), 100'000);
  ASSERT_EQ(run("train_cnn --plan-only --snapshot " + dir.text("cnn.pickle")).code, 0);
  EXPECT_TRUE(data::read_text(dir / "cnn.pickle").starts_with("\x80\x02}("));
}

TEST(Pictures, AreRefusedBeforeTraining) {
  for (const char* option : {"--report", "--snapshot", "--trace"})
    for (const char* program : {"train_cnn", "train_transformer"}) {
      const Outcome outcome = run(std::string(program) + " " + option + " /nowhere/file");
      EXPECT_EQ(outcome.code, 2);
      EXPECT_EQ(outcome.output, std::string(option).substr(2) +
                                    ": the file cannot be written: /nowhere/file (No such file or "
                                    "directory). Look at its folder and the space on the "
                                    "disk.\n");
    }
  const TemporaryFolder dir;
  const Outcome eager = run("train_cnn --mode eager --report " + dir.text("a.html"));
  EXPECT_EQ(eager.code, 2);
  EXPECT_NE(eager.output.find("--report: only a captured step has a plan to draw: --mode eager."),
            std::string::npos)
      << eager.output;
}

}  // namespace
}  // namespace plimsoll::examples
