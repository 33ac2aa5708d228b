// A program that is running, to be sent signals.
//
//   const Running running("build/bin/train_cnn --run runs/a", "output");
//   running.signal(SIGTERM);
//   EXPECT_EQ(running.wait(), 130);
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace plimsoll {

class Running {
 public:
  // The shell is only there to find its output a file.
  Running(const std::string& command, const std::filesystem::path& output) : pid_(fork()) {
    const std::string line = "exec " + command + " > " + output.string() + " 2>&1";
    if (pid_ == 0) execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
  }
  void signal(int number) const { kill(pid_, number); }
  int wait() const {  // the exit code, or minus the signal
    int status = 0;
    waitpid(pid_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  pid_t pid_;
};

}  // namespace plimsoll
