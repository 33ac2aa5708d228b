// Philox4x32-10 against the known answers of its authors (Salmon, Moraes, Dror and Shaw 2011, file
// kat_vectors of Random123), and the sequence of keys made from it.
#include <gtest/gtest.h>

#include <set>

#include "core/philox.h"

namespace plimsoll {
namespace {

using Words = std::array<uint32_t, 4>;

TEST(Philox, GivesThePublishedAnswers) {
  constexpr uint32_t all = 0xffffffffu;
  EXPECT_EQ(philox({0, 0}, {0, 0, 0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({all, all}, {all, all, all, all}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0xa4093822, 0x299f31d0}, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, SplitsKeyStreamAndBlockIntoWords) {
  EXPECT_EQ(random_words(0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, UnitFloatsAreInTheirRange) {
  EXPECT_EQ(unit_float(0), 0.0f);
  EXPECT_EQ(unit_float(0xffffffff), 1 - 0x1p-24f);
  EXPECT_EQ(unit_float(0x80000000), 0.5f);
}

TEST(Keys, RepeatForASeedAndDifferOtherwise) {
  Keys a(1), again(1), b(2);
  std::set<uint64_t> seen;
  for (int i = 0; i < 1000; ++i) {
    const uint64_t key = a.next();
    EXPECT_EQ(key, again.next());
    seen.insert(key);
    seen.insert(b.next());
  }
  EXPECT_EQ(seen.size(), 2000u);
}

}  // namespace
}  // namespace plimsoll
