// Philox4x32-10 against the known answers of its authors (Salmon, Moraes, Dror and Shaw 2011, file
// kat_vectors of Random123), and the sequence of keys made from it.
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "core/cpu/philox.h"

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

TEST(Philox, ManyBlocksSideBySideAreTheSameNumbers) {
  constexpr uint64_t key = 0x299f31d0a4093822, stream = 0xfedcba9876543210;
  for (const uint64_t first : {uint64_t{0}, uint64_t{0xfffffff5}, uint64_t{0x85a308d3243f6a88}})
    for (int64_t blocks : {0, 1, 15, 16, 17, 100}) {
      std::vector<uint32_t> words(static_cast<size_t>(4 * blocks));
      draw_words(key, stream, first, 4 * blocks, words.data());
      for (int64_t i = 0; i < 4 * blocks; ++i)
        ASSERT_EQ(words[static_cast<size_t>(i)],
                  random_words(key, stream, first + static_cast<uint64_t>(i / 4))[i % 4])
            << "word " << i << " of " << blocks << " blocks from " << first;
    }
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
