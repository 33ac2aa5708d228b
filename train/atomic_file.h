// Files that are there whole or not at all, whatever ends the process meanwhile.
//
//   write_atomically("runs/a/config.toml", [&](const std::filesystem::path& file) {
//     write_text(file, text);           // a new file in the same folder
//   });
//   write_atomically("runs/a/config.toml", text);
//
// The new file is written, synchronised with the disk and only then given its name, and the folder
// is synchronised too: after a crash the name stands for the old bytes or for the new ones.
#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

namespace plimsoll::train {

// `write` gets the name of an empty file beside `file`, "NAME.PID.N.tmp", to fill. What it throws
// comes out, and the file is removed. DataError naming `file` when the folder or the disk does not
// take it; what was there before stays.
void write_atomically(const std::filesystem::path& file,
                      const std::function<void(const std::filesystem::path& file)>& write);
void write_atomically(const std::filesystem::path& file, std::string_view text);

// Removes what processes that were killed left of files of a folder whose names begin so. Nobody may
// be writing one.
void remove_unfinished(const std::filesystem::path& folder, std::string_view prefix);

}  // namespace plimsoll::train
