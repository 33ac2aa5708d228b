#include "examples/measure/own_process.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <new>

#include "core/base/error.h"
#include "core/cpu/pages.h"

namespace plimsoll::examples {
namespace {

int64_t status_bytes(const char* line_format) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    int64_t kibibytes = 0;
    if (std::sscanf(line.c_str(), line_format, &kibibytes) == 1) return kibibytes * 1024;
  }
  return 0;
}

// What the process says: how it ended, then the result or the error's text.
enum Ending : char { kDone = 'd', kUsage = 'u', kData = 'f', kFull = 'm', kOther = 'e' };

std::string ending_of(const std::function<std::string()>& work) {
  const auto said = [](Ending ending, const std::string& text) {
    return static_cast<char>(ending) + text;
  };
  try {
    return said(kDone, work());
  } catch (const UsageError& e) {
    return said(kUsage, e.what());
  } catch (const DataError& e) {
    return said(kData, e.what());
  } catch (const std::bad_alloc&) {
    return said(kFull, "");
  } catch (const std::exception& e) {
    return said(kOther, e.what());
  }
}

}  // namespace

int64_t resident() { return status_bytes("VmRSS: %" SCNd64 " kB"); }
int64_t peak_resident() { return status_bytes("VmHWM: %" SCNd64 " kB"); }

int64_t begin_growth() {
  return_free_pages();
  std::ofstream("/proc/self/clear_refs") << 5;  // VmHWM becomes VmRSS
  return resident();
}

std::string bytes_of_own_process(const std::function<std::string()>& work) {
  std::fflush(nullptr);  // what is still to be written is written once
  int ends[2];
  const bool piped = pipe(ends) == 0;
  const pid_t child = piped ? fork() : -1;
  check<Error>(child >= 0, "process: none can be started. Look at the limits of this user.");
  if (child == 0) {
    close(ends[0]);
    const std::string said = ending_of(work);
    std::fflush(nullptr);
    size_t written = 0;
    while (written < said.size()) {
      const ssize_t n = write(ends[1], said.data() + written, said.size() - written);
      if (n < 0) break;  // nobody listens any more
      written += static_cast<size_t>(n);
    }
    _exit(0);  // not exit(): what the other process does at its end is its own
  }
  close(ends[1]);
  std::string said;
  char buffer[4096];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;)
    said.append(buffer, static_cast<size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  check<OutOfMemory>(!WIFSIGNALED(status), "process: it was ended by signal ", WTERMSIG(status),
                     ". It may have taken more memory than the machine has: use a smaller batch.");
  check<Error>(!said.empty(), "process: it ended by itself, without a result: exit status ",
               WEXITSTATUS(status), ". Look at what it printed.");
  const std::string text = said.substr(1);
  switch (said[0]) {
    case kDone:
      return text;
    case kUsage:
      fail<UsageError>(text);
    case kData:
      fail<DataError>(text);
    case kFull:
      throw std::bad_alloc();
    default:
      fail<Error>(text);
  }
}

}  // namespace plimsoll::examples
