// A folder of files that is there whole or not at all.
//
//   make_folder("runs/a/adapter", "adapter", [&](const fs::path& fresh) { write(fresh / "a"); });
#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace plimsoll::published {

// `write` fills an empty folder beside `folder`, which then gets its name. DataError, which begins
// with `who`: it is there already, its own folder does not take it; whatever `write` throws. Then
// nothing is left.
void make_folder(const std::filesystem::path& folder, const std::string& who,
                 const std::function<void(const std::filesystem::path& fresh)>& write);

}  // namespace plimsoll::published
