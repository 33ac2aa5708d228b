// Damaged saves: none is taken for a state, and training goes on from the one before.
#include "tests/campaign/campaign.h"
#include "train/saves.h"

namespace plimsoll::examples {
namespace {

namespace fs = std::filesystem;

TEST(CampaignSaves, TrainingGoesOnFromTheOneBefore) {
  const Campaign campaign;
  campaign.make_whole();
  const data::Bytes noise(1000, 0x5a);
  int tried = 0;
  for (const size_t keep : {size_t{0}, size_t{7}, size_t{5000}}) {
    const std::string name = cat("run", keep);
    ASSERT_EQ(run(campaign.train(campaign.into(name) + " --stop-after 15")).code, 0);
    const auto saves = train::list_saves(campaign.dir / name / "saves");
    ASSERT_GE(saves.size(), 2U);
    fs::resize_file(saves[0].file, keep);
    const Outcome resumed = run("train_transformer --resume " + campaign.dir.text(name));
    EXPECT_EQ(resumed.code, 0) << resumed.output;
    EXPECT_NE(resumed.output.find(cat("resumed after ", saves[1].number, " batches")),
              std::string::npos)
        << resumed.output;
    campaign.expect_same_as_whole(name);
    ++tried;
  }
  EXPECT_EQ(tried, 3);
}

}  // namespace
}  // namespace plimsoll::examples
