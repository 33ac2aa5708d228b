#include "data/source.h"

#include "data/images/builtin_images.h"
#include "data/images/cifar10.h"
#include "data/images/idx.h"
#include "data/text/builtin_text.h"
#include "data/text/token_file.h"

namespace plimsoll::data {
namespace {

struct ImageFormat {
  const char* prefix;
  ImageDataset (*load)(const std::filesystem::path& dir, Split split);
};

constexpr ImageFormat kImageFormats[] = {
    {"mnist:", load_mnist}, {"fashion:", load_fashion_mnist}, {"cifar10:", load_cifar10}};

// What follows the prefix; empty when it is another prefix, or nothing follows.
std::string after(const std::string& source, std::string_view prefix) {
  return source.starts_with(prefix) ? source.substr(prefix.size()) : "";
}

}  // namespace

ImageSource load_images(const std::string& source) {
  return {load_images(source, Split::train), load_images(source, Split::test)};
}

ImageDataset load_images(const std::string& source, Split split) {
  if (source == "builtin") return draw_images(split);
  for (const auto& [prefix, load] : kImageFormats)
    if (const std::string dir = after(source, prefix); !dir.empty()) return load(dir, split);
  check<UsageError>(after(source, "folder:").empty(),
                    "data: pictures in files are not read here: ", source,
                    ". Use formats::load_images().");
  fail<UsageError>("data: this names no images: \"", source, "\". Use ", kImageSources, ".");
}

TextDataset load_text(const std::string& source, const char* folder) {
  if (source == "builtin")
    return split_text(source, read_sources(*folder ? folder : source_folder()));
  if (const std::string file = after(source, "text:"); !file.empty())
    return split_text(file, read_text(file));
  fail<UsageError>("data: this names no text: \"", source, "\". Use ", kTextSources, ".");
}

TokenSource load_tokens(const std::string& source, const char* folder) {
  if (const std::string name = after(source, "tokens:"); !name.empty()) {
    const auto file = std::make_shared<const TokenFile>(name);
    const Tokens& all = file->tokens();
    const int64_t first = all.size() / 10 * 9 + all.size() % 10 * 9 / 10;  // no overflow
    return {name, file->vocabulary(), all.part(0, first), all.part(first, all.size()), file};
  }
  check<UsageError>(source == "builtin" || !after(source, "text:").empty(),
                    "data: this names no text: \"", source, "\". Use ", kTokenSources, ".");
  const auto text = std::make_shared<const TextDataset>(load_text(source, folder));
  return {text->name, text->vocabulary.size(), text->train, text->validation, text};
}

}  // namespace plimsoll::data
