// Runs a target on damaged files, the same ones for the same seed.
//
//   fuzz_safetensors --runs 1000000 --seed 7
//
// It fails, and leaves the file that did it as fuzz_crash, when the reader crashes, takes two
// seconds of the processor, throws anything but DataError, or holds more memory than the file has
// bytes and kAllowance.
#include <fcntl.h>
#include <malloc.h>
#include <sys/time.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "core/tensor/allocator.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/target.h"

namespace {

constexpr size_t kAllowance = 256 * 1024;
constexpr time_t kSeconds = 2;

size_t held = 0, most = 0;  // bytes: now, and the most since it was reset

void* count(void* data) {
  if (!data) throw std::bad_alloc();
  held += malloc_usable_size(data);
  most = std::max(most, held);
  return data;
}

void release(void* data) noexcept {
  if (data) held -= malloc_usable_size(data);
  std::free(data);
}

}  // namespace

void* operator new(size_t size) { return count(std::malloc(size > 0 ? size : 1)); }
void* operator new(size_t size, const std::nothrow_t&) noexcept try {
  return operator new(size);
} catch (const std::bad_alloc&) {
  return nullptr;
}
void* operator new(size_t size, std::align_val_t align) {
  const size_t boundary = static_cast<size_t>(align);
  return count(std::aligned_alloc(boundary, (size + boundary - 1) / boundary * boundary));
}
void operator delete(void* data) noexcept { release(data); }
void operator delete(void* data, size_t) noexcept { release(data); }
void operator delete(void* data, std::align_val_t) noexcept { release(data); }
void operator delete(void* data, size_t, std::align_val_t) noexcept { release(data); }

namespace plimsoll::fuzz {
namespace {

// Tensors straight from operator new, so that they are counted.
class Plain : public Allocator {
 public:
  Device device() const override { return Device::cpu; }
  void* allocate(int64_t bytes, MemoryClass, const char*) override {
    if (bytes == 0) return nullptr;
    return ::operator new (static_cast<size_t>(block_bytes(bytes)), std::align_val_t{kGranule});
  }
  void deallocate(void* data, int64_t, MemoryClass) noexcept override {
    ::operator delete (data, std::align_val_t{kGranule});
  }
  void reclassify(int64_t, MemoryClass, MemoryClass) noexcept override {}
};

std::string current;  // what is being read

void keep() {
  const int file = ::open("fuzz_crash", O_WRONLY | O_CREAT | O_TRUNC, 0644);
  const ssize_t written = ::write(file, current.data(), current.size());
  static_cast<void>(written);
  ::close(file);
}

void on_signal(int number) {
  keep();
  std::signal(number, SIG_DFL);
  std::raise(number);
}

[[noreturn]] void give_up(int64_t run, const std::string& what) {
  keep();
  std::fprintf(stderr, "fuzz: run %lld: %s: see fuzz_crash\n", static_cast<long long>(run),
               what.c_str());
  std::exit(1);
}

// SIGPROF after so much time of the processor, whoever else uses it; 0: never.
void set_alarm(time_t seconds) {
  const itimerval timer{.it_interval = {}, .it_value = {.tv_sec = seconds, .tv_usec = 0}};
  setitimer(ITIMER_PROF, &timer, nullptr);
}

bool run(int64_t number) {
  most = held;
  const size_t before = held;
  bool taken = false;
  set_alarm(kSeconds);
  try {
    taken = reads(current);
  } catch (const std::exception& e) {
    give_up(number, cat("not a DataError: ", e.what()));
  }
  set_alarm(0);
  if (most - before > current.size() + kAllowance)
    give_up(number, cat("held ", most - before, " bytes for a file of ", current.size()));
  return taken;
}

void fuzz(int64_t runs, uint64_t seed) {
  const AllocatorScope scope(std::make_shared<Plain>());
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGPROF})
    std::signal(number, on_signal);
  for (const std::string& valid : seeds()) {
    current = valid;
    if (!run(-1)) give_up(-1, "a seed is refused");
  }
  Mutator mutator(seed, seeds(), words());
  int64_t taken = 0;
  for (int64_t number = 0; number < runs; ++number) {
    current = mutator.next();
    taken += run(number);
  }
  std::printf("%lld files: %lld read, %lld refused\n", static_cast<long long>(runs),
              static_cast<long long>(taken), static_cast<long long>(runs - taken));
}

}  // namespace
}  // namespace plimsoll::fuzz

int main(int argc, char** argv) {
  int64_t runs = 100'000;
  uint64_t seed = 1;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view option = argv[i];
    if (option == "--runs") runs = std::atoll(argv[i + 1]);
    if (option == "--seed") seed = static_cast<uint64_t>(std::atoll(argv[i + 1]));
  }
  plimsoll::fuzz::fuzz(runs, seed);
}
