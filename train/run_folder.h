// RunFolder: the folder of one training: its config, its log and its saves.
//
//   RunFolder run("runs/a", /*resume=*/false);
//   data::write_atomically(run.config(), text);
//   Saves saves(run.saves(), 3);
#pragma once

#include <filesystem>
#include <vector>

namespace plimsoll::train {

class RunFolder {
 public:
  // Makes the folder where there is none, and keeps other processes out of it until this object is
  // gone or the process is; folders it made go with it while they are empty. UsageError when it
  // cannot be made, another process has it, or it has saves already and is not to be resumed.
  RunFolder(std::filesystem::path path, bool resume);
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path config() const { return config_of(path_); }
  std::filesystem::path saves() const { return saves_of(path_); }

  static std::filesystem::path config_of(const std::filesystem::path& run) {
    return run / "config.toml";
  }
  static std::filesystem::path saves_of(const std::filesystem::path& run) { return run / "saves"; }

 private:
  std::filesystem::path path_;
  std::vector<std::filesystem::path> made_;  // the innermost first
  int lock_ = -1;
};

}  // namespace plimsoll::train
