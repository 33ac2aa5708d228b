// Files of token ids: written once, then mapped and never read whole.
//
//   {
//     TokenWriter writer("text.tokens", bpe.size());
//     writer.append(bpe.encode(text));
//     writer.finish();
//   }
//   const TokenFile file("text.tokens");                   // mapped, not read
//   Batch b = random_windows(file.tokens(), {.batch = 12, .context = 64}, key, step);
//
// A file, all numbers little-endian:
//
//   8 bytes  "plimtok1"
//   u32      bytes of an id: 2 where the vocabulary has at most 65,536 tokens, else 4
//   u32      size of the vocabulary; ids are below it
//   u64      number of ids
//   u32      CRC-32 of the 24 bytes before
//   u32      0
//   the ids
//
// A file that begins otherwise is taken as nanoGPT's .bin: ids of 16 bits and nothing else.
#pragma once

#include <fstream>

#include "data/atomic_file.h"
#include "data/mapped_file.h"
#include "data/text/tokens.h"

namespace plimsoll::data {

class TokenFile {
 public:
  // Reads the header. DataError when the file is missing, empty or not of these forms. Of a raw
  // file, which does not say its vocabulary, every id is looked at once.
  explicit TokenFile(const std::filesystem::path& path);
  TokenFile(const TokenFile&) = delete;
  TokenFile& operator=(const TokenFile&) = delete;

  // As the header says; of a raw file the highest id and 1.
  int64_t vocabulary() const { return tokens_.vocabulary_; }
  const Tokens& tokens() const { return tokens_; }  // lives as long as this

 private:
  const std::string name_;
  const MappedFile file_;
  Tokens tokens_;
};

// Writes a file that is there complete or not at all (data/atomic_file.h), and nothing without
// finish().
class TokenWriter {
 public:
  // ValueError for a vocabulary outside 1 ... 2^31; DataError when the file cannot be made.
  TokenWriter(const std::filesystem::path& path, int64_t vocabulary);

  // IndexError for an id outside the vocabulary.
  void append(std::span<const int32_t> ids);
  // The file is on the disk when this returns: DataError when that is full. Nothing may be appended
  // after it.
  void finish();

  int64_t count() const { return count_; }
  int64_t bytes_each() const { return bytes_each_; }

 private:
  void write_header();

  const std::filesystem::path path_;
  const int64_t vocabulary_, bytes_each_;
  AtomicFile file_;
  std::ofstream out_;
  int64_t count_ = 0;
};

}  // namespace plimsoll::data
