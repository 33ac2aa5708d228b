// The text that comes with the program: its own documents and sources.
//
//   TextDataset text = split_text("builtin", read_sources(source_folder()));
#pragma once

#include <filesystem>
#include <string>

namespace plimsoll::data {

// The source folder this program was built from.
std::filesystem::path source_folder();

// All files *.md, *.h and *.cpp below `root` in the order of their paths, joined: documents of the
// top folder first, then docs/ and the folders of the engine, so that build folders and whatever
// else lies around change nothing. DataError when there are none, as on a machine that got only the
// program.
std::string read_sources(const std::filesystem::path& root);

}  // namespace plimsoll::data
