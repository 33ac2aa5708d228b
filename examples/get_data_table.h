// What get_data knows about each dataset: a table, and nothing else.
#pragma once

#include <cstdint>
#include <span>

namespace plimsoll::get_data {

// A file as published. Both numbers are checked before it gets its name.
struct RemoteFile {
  const char* name;
  int64_t bytes;
  const char* sha256;
};

// A file inside a published archive.
struct Member {
  const char* name;
  int64_t bytes;
};

struct Dataset {
  const char* name;
  const char* base;  // default address; a file lies at base/name
  std::span<const RemoteFile> files;
  std::span<const Member> members;  // taken out of files[0]; none: that is no archive
  const char* prefix;               // how it is named after --data: prefix DIR suffix
  const char* suffix;
};

inline constexpr RemoteFile kMnist[] = {
    {"train-images-idx3-ubyte.gz", 9'912'422,
     "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"},
    {"train-labels-idx1-ubyte.gz", 28'881,
     "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"},
    {"t10k-images-idx3-ubyte.gz", 1'648'877,
     "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"},
    {"t10k-labels-idx1-ubyte.gz", 4'542,
     "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"}};

inline constexpr RemoteFile kFashion[] = {
    {"train-images-idx3-ubyte.gz", 26'421'880,
     "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84"},
    {"train-labels-idx1-ubyte.gz", 29'515,
     "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845"},
    {"t10k-images-idx3-ubyte.gz", 4'422'102,
     "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073"},
    {"t10k-labels-idx1-ubyte.gz", 5'148,
     "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5"}};

inline constexpr RemoteFile kCifar10[] = {
    {"cifar-10-binary.tar.gz", 170'052'171,
     "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd"}};

inline constexpr Member kCifar10Members[] = {
    {"data_batch_1.bin", 30'730'000}, {"data_batch_2.bin", 30'730'000},
    {"data_batch_3.bin", 30'730'000}, {"data_batch_4.bin", 30'730'000},
    {"data_batch_5.bin", 30'730'000}, {"test_batch.bin", 30'730'000}};

inline constexpr RemoteFile kTinyShakespeare[] = {
    {"input.txt", 1'115'394, "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"}};

inline constexpr Dataset kDatasets[] = {
    {"mnist", "https://ossci-datasets.s3.amazonaws.com/mnist", kMnist, {}, "mnist:", ""},
    {"fashion",
     "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com",
     kFashion,
     {},
     "fashion:",
     ""},
    {"cifar10", "https://www.cs.toronto.edu/~kriz", kCifar10, kCifar10Members, "cifar10:", ""},
    {"tinyshakespeare",
     "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare",
     kTinyShakespeare,
     {},
     "text:",
     "/input.txt"}};

}  // namespace plimsoll::get_data
