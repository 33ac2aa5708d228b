// Damaged saves: none is taken for a state, and training goes on from the one before.
#include "tests/campaign/campaign.h"
#include "train/state.h"

namespace plimsoll::examples {
namespace {

namespace fs = std::filesystem;

TEST(CampaignSaves, TwoHundredDamagedFilesAreRefused) {
  const Campaign campaign;
  campaign.make_whole();
  const fs::path file = train::list_saves(campaign.dir / "whole" / "saves").at(0).file;
  const data::Bytes whole = data::read_file(file);
  const fs::path damaged = campaign.dir / "damaged.safetensors";
  int refused = 0;
  const auto refuse = [&](const data::Bytes& bytes) {
    campaign.dir.write("damaged.safetensors", bytes);
    try {
      train::check_whole(damaged);
      ADD_FAILURE() << "a damaged file was taken";
    } catch (const DataError& e) {
      EXPECT_NE(std::string(e.what()).find(damaged.string()), std::string::npos) << e.what();
      ++refused;
    }
  };
  for (size_t k = 0; k < 100; ++k) {  // cut, from nothing to all but a byte
    data::Bytes cut = whole;
    cut.resize(k * k * whole.size() / 10000);
    refuse(cut);
  }
  for (size_t k = 0; k < 100; ++k) {  // a bit of a tensor, over the whole file
    data::Bytes flipped = whole;
    const size_t tensors = whole.size() - whole.size() / 2;
    flipped[tensors + k * (whole.size() - tensors - 1) / 99] ^= static_cast<uint8_t>(1 << k % 8);
    refuse(flipped);
  }
  EXPECT_EQ(refused, 200);
}

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
