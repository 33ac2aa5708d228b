// Values made once for each key, whoever asks, and while others make theirs.
#include "core/once_map.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <stdexcept>
#include <thread>
#include <vector>

namespace plimsoll {
namespace {

TEST(OnceMap, EachValueIsMadeOnce) {
  constexpr int kKeys = 200, kThreads = 8;
  OnceMap<int, int> map;
  std::atomic<int> made = 0, wrong = 0;
  std::vector<const int*> first(kKeys, nullptr);
  for (int key = 0; key < kKeys; key += 2)
    first[static_cast<size_t>(key)] = &map.find(key, [&](int k) { return ++made, k * k; });
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < kKeys; ++i) {
          const int key = (i * 7 + t * 31) % kKeys;
          wrong += map.find(key, [&](int k) { return ++made, k * k; }) != key * key;
        }
      });
  }
  EXPECT_EQ(made, kKeys);
  EXPECT_EQ(wrong, 0);
  for (int key = 0; key < kKeys; key += 2)  // they stay where they are
    EXPECT_EQ(&map.find(key, [](int) { return -1; }), first[static_cast<size_t>(key)]);
}

// Two threads make the values of two keys, and each waits until the other one has begun.
TEST(OnceMap, OtherKeysAreNotWaitedFor) {
  OnceMap<int, bool> map;
  std::promise<void> begun[2];
  std::future<void> other[] = {begun[1].get_future(), begun[0].get_future()};
  const auto make = [&](int key) {
    begun[key].set_value();
    return other[key].wait_for(std::chrono::seconds(30)) == std::future_status::ready;
  };
  std::jthread thread([&] { map.find(1, make); });
  EXPECT_TRUE(map.find(0, make));
  thread.join();
  EXPECT_TRUE(map.find(1, make));
}

TEST(OnceMap, WhatCouldNotBeMadeIsTriedAgain) {
  OnceMap<int, int> map;
  const auto fails = [](int) -> int { throw std::runtime_error("not now"); };
  EXPECT_THROW(map.find(1, fails), std::runtime_error);
  EXPECT_THROW(map.find(1, fails), std::runtime_error);
  EXPECT_EQ(map.find(1, [](int key) { return key + 1; }), 2);
  EXPECT_EQ(map.find(1, fails), 2);
}

}  // namespace
}  // namespace plimsoll
