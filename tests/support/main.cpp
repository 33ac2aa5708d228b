// main() of every test program: as GoogleTest's own, but 77 where all that ran was skipped. CTest
// knows such a program by its status (SKIP_RETURN_CODE), not by what it prints: a program that
// skips and fails has failed.
#include <gtest/gtest.h>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (const int status = RUN_ALL_TESTS(); status != 0) return status;
  const testing::UnitTest& unit = *testing::UnitTest::GetInstance();
  return unit.skipped_test_count() > 0 && unit.successful_test_count() == 0 ? 77 : 0;
}
