// Where data comes from, as written on a command line after --data.
//
//   ImageSource images = load_images("mnist:data/mnist");
//   TextDataset text = load_text("builtin");
//   TokenSource tokens = load_tokens("tokens:text.tokens");
#pragma once

#include <memory>

#include "data/dataset.h"
#include "data/text/text.h"

namespace plimsoll::data {

// What the functions accept, for --help. Pictures in files need libraries that the engine does not
// link: "folder:DIR" is read by formats::load_images() (formats/image_folder.h), which reads all.
constexpr const char* kImageSources =
    "builtin | mnist:DIR | fashion:DIR | cifar10:DIR | folder:DIR";
constexpr const char* kTextSources = "builtin | text:FILE";
constexpr const char* kTokenSources = "builtin | text:FILE | tokens:FILE";

struct ImageSource {
  ImageDataset train, test;
};

// Any text as tokens: characters of a text, or a file that tokenize or nanoGPT has written.
struct TokenSource {
  std::string name;
  int64_t vocabulary = 0;             // ids are below it
  Tokens train;                       // the first 90 %, rounded down
  Tokens validation;                  // the rest
  std::shared_ptr<const void> owner;  // of the memory they look at
};

// Where the text of "builtin" is: in the package, for programs that use an installed one. Empty: in
// the source folder that this library was built from.
#ifdef PLIMSOLL_TEXT
constexpr const char* kTextFolder = PLIMSOLL_TEXT;
#else
constexpr const char* kTextFolder = "";
#endif

// UsageError for anything else, listing what is accepted; DataError from reading.
ImageSource load_images(const std::string& source);
ImageDataset load_images(const std::string& source, Split split);
TextDataset load_text(const std::string& source, const char* folder = kTextFolder);
TokenSource load_tokens(const std::string& source, const char* folder = kTextFolder);

}  // namespace plimsoll::data
