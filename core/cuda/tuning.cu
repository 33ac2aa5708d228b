#include "core/cuda/tuning.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/autotune.h"
#include "core/cuda/launch.cuh"
#include "core/median.h"

namespace plimsoll::cuda {
namespace {

constexpr int kRounds = 5;        // odd: one of them is the median
constexpr double kEnough = 5e-4;  // seconds of a measurement: shorter runs are repeated
constexpr double kMostRepeats = 20;
constexpr double kHopeless = 3;  // times as slow as the fastest
constexpr double kGain = 0.02;   // that makes another algorithm worth it

class Event {
 public:
  Event() { check_cuda(cudaEventCreateWithFlags(&event_, 0), "cudaEventCreateWithFlags"); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record() { check_cuda(cudaEventRecord(event_, stream()), "cudaEventRecord"); }
  void wait() { check_cuda(cudaEventSynchronize(event_), "cudaEventSynchronize"); }
  double seconds_since(const Event& start) const {
    float milliseconds = 0;
    check_cuda(cudaEventElapsedTime(&milliseconds, start.event_, event_), "cudaEventElapsedTime");
    return static_cast<double>(milliseconds) / 1e3;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

// Neighbouring words have nothing in common (the finalizer of MurmurHash3).
__global__ void noise_kernel(uint32_t* words, int64_t n) {
  for (int64_t i = first_index(); i < n; i += total_threads()) {
    auto hash = static_cast<uint32_t>(i);
    hash = (hash ^ (hash >> 16)) * 0x85ebca6bu;
    hash = (hash ^ (hash >> 13)) * 0xc2b2ae35u;
    hash ^= hash >> 16;
    words[i] = (hash & 0x83ff83ffu) | 0x38003800u;
  }
}

}  // namespace

bool can_time() {
  if (!autotune()) return false;
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check_cuda(cudaStreamIsCapturing(stream(), &status), "cudaStreamIsCapturing");
  return status == cudaStreamCaptureStatusNone;
}

std::optional<size_t> fastest(const Times& times) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  std::vector<double> medians;
  for (const std::vector<double>& rounds : times)
    medians.push_back(rounds.empty() ? kNever : median(rounds));
  double least = kNever;
  for (const double seconds : medians) least = std::min(least, seconds);
  if (least == kNever) return std::nullopt;
  const auto unbeaten = [&](double seconds) {
    return seconds == least || least > (1 - kGain) * seconds;
  };
  return static_cast<size_t>(std::ranges::find_if(medians, unbeaten) - medians.begin());
}

Times time_candidates(size_t candidates, const std::function<void(size_t)>& run) {
  stream();  // opens the device
  Event start, end;
  const auto seconds = [&](size_t i, int repeats) {
    start.record();
    for (int k = 0; k < repeats; ++k) run(i);
    end.record();
    end.wait();
    return end.seconds_since(start) / repeats;
  };
  Times times(candidates);
  std::vector<size_t> running;
  for (size_t i = 0; i < candidates; ++i) try {
      seconds(i, 1);  // loads its kernels
      running.push_back(i);
    } catch (const DeviceError&) {
      cudaGetLastError();  // else the next launch would report it
    }
  double least = std::numeric_limits<double>::infinity();
  for (const size_t i : running) {
    times[i] = {seconds(i, 1)};
    least = std::min(least, times[i][0]);
  }
  std::erase_if(running, [&](size_t i) { return times[i][0] > kHopeless * least; });
  const int repeats = static_cast<int>(std::clamp(std::ceil(kEnough / least), 1.0, kMostRepeats));
  for (const size_t i : running) times[i].clear();
  for (int round = 0; round < kRounds; ++round)
    for (const size_t i : running) times[i].push_back(seconds(i, repeats));
  return times;
}

void fill_noise(void* data, int64_t bytes) {
  const int64_t words = bytes / 4;
  launch(noise_kernel, blocks_for(words), kThreads, static_cast<uint32_t*>(data), words);
}

}  // namespace plimsoll::cuda
