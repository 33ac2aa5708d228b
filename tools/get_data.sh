#!/usr/bin/env bash
# Fetches the datasets that the examples train on, each checked against its published SHA-256
# (what is taken out of an archive, by its size).
#
#   tools/get_data.sh mnist --out data/mnist               # fashion, cifar10, tinyshakespeare
#   tools/get_data.sh mnist --out data/mnist --base /media/usb/mnist       # a folder or a mirror
#
# It needs curl, sha256sum, tar and gzip. A file is written beside its place as NAME.part, checked,
# and only then renamed, so that a name never stands for half a file. Files that are there already
# and have the right checksum are left alone: the command may be repeated. CIFAR-10 comes as an
# archive, which stays beside the files taken out of it, because its checksum is the published one.
# Exit code: 0 done, 2 wrong usage, 3 the data could not be fetched.
set -euo pipefail

# Sets what is known of a dataset: the address `base`, the prefix and suffix of its folder after
# --data, the `files` there (name, bytes, SHA-256), and the `members` of the first file where that
# is an archive (path, bytes).
describe() {
  suffix="" members=""
  case "$1" in
    mnist)
      base=https://ossci-datasets.s3.amazonaws.com/mnist prefix=mnist:
      files="
train-images-idx3-ubyte.gz 9912422 440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609
train-labels-idx1-ubyte.gz 28881 3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c
t10k-images-idx3-ubyte.gz 1648877 8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6
t10k-labels-idx1-ubyte.gz 4542 f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"
      ;;
    fashion)
      base=http://fashion-mnist.s3-website.eu-central-1.amazonaws.com prefix=fashion:
      files="
train-images-idx3-ubyte.gz 26421880 3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84
train-labels-idx1-ubyte.gz 29515 a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845
t10k-images-idx3-ubyte.gz 4422102 346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073
t10k-labels-idx1-ubyte.gz 5148 67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5"
      ;;
    cifar10)
      base=https://www.cs.toronto.edu/~kriz prefix=cifar10:
      files="
cifar-10-binary.tar.gz 170052171 c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd"
      local name
      for name in data_batch_{1,2,3,4,5} test_batch; do
        members+="cifar-10-batches-bin/$name.bin 30730000"$'\n'
      done
      ;;
    tinyshakespeare)
      base=https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare
      prefix=text: suffix=/input.txt
      files="
input.txt 1115394 86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"
      ;;
    *) usage "there is no dataset $1: it is one of mnist, fashion, cifar10, tinyshakespeare." ;;
  esac
}

usage() {
  echo "get_data: $1 Run tools/get_data.sh DATASET --out FOLDER [--base ADDRESS]." >&2
  exit 2
}
fail() {
  echo "get_data: $1" >&2
  exit 3
}

part=""  # what is under construction, and removed when the script ends before it is whole
trap 'if [ -n "$part" ]; then rm -rf -- "$part"; fi' EXIT

sha256_of() { sha256sum < "$1" | cut -d' ' -f1; }
bytes_of() { wc -c < "$1" | tr -d ' '; }

is_present() {  # PATH BYTES SHA256
  [ -f "$1" ] && [ "$(bytes_of "$1")" = "$2" ] && [ "$(sha256_of "$1")" = "$3" ]
}

fetch() {  # NAME BYTES SHA256 BASE FOLDER
  local name=$1 bytes=$2 sum=$3 source="${4%/}/$1" target="$5/$1" reason size found
  mkdir -p -- "$5" 2>/dev/null || fail "the folder cannot be made: $5. Choose another --out."
  [ ! -d "$target" ] ||
    fail "the name is a folder's: $target. Move it away, or choose another --out."
  part="$target.part"
  rm -rf -- "$part"
  case "$4" in
    *://*)
      reason=$(curl --silent --show-error --fail --location --proto '=http,https,file' \
        --proto-redir '=http,https' --connect-timeout 30 --speed-limit 100 --speed-time 60 \
        --retry 2 --max-filesize "$bytes" --output "$part" -- "$source" 2>&1) ||
        fail "the transfer failed: $source: $reason. Check the network, or use another --base."
      [ -e "$part" ] || : > "$part"  # curl makes no file of nothing
      ;;
    *)
      [ -d "$4" ] || fail "--base is neither an address nor a folder: $4. Name one that exists, or \
begin it with https://."
      reason=$(cp -- "$source" "$part" 2>&1) ||
        fail "the transfer failed: $source: $reason. Use another --base."
      ;;
  esac
  size=$(bytes_of "$part")
  [ "$size" = "$bytes" ] || fail "the file has another size than published: $source has $size \
bytes, published are $bytes. Try again, or use another --base."
  found=$(sha256_of "$part")
  [ "$found" = "$sum" ] || fail "the checksum is wrong: $source has SHA-256 $found, published is \
$sum. Use another --base."
  mv -f -- "$part" "$target" 2>/dev/null || fail "the file cannot be given its name: $target. \
Choose another --out."
  part=""
}

unpack() {  # ARCHIVE MEMBERS FOLDER: all of them or none
  local path bytes size
  part="$1.part"
  rm -rf -- "$part" && mkdir -- "$part"
  while read -r path bytes; do
    [ -n "$path" ] || continue
    tar -xzf - -C "$part" "$path" 2>/dev/null < "$1" ||
      fail "the archive cannot be read, or lacks a file: $path in $1. Fetch it again."
    size=$(bytes_of "$part/$path")
    [ "$size" = "$bytes" ] || fail "a file of the archive has the wrong size: $path in $1 has \
$size bytes, published are $bytes. Fetch it again."
  done <<< "$2"
  while read -r path bytes; do
    if [ -n "$path" ]; then mv -f -- "$part/$path" "$3/"; fi
  done <<< "$2"
  rm -rf -- "$part"
  part=""
}

get() {  # DATASET FOLDER BASE
  local base prefix suffix files members name path bytes sum archive="" missing=""
  describe "$1"
  base=${3:-$base}
  while read -r name bytes sum; do
    [ -n "$name" ] || continue
    archive=${archive:-$2/$name}
    if is_present "$2/$name" "$bytes" "$sum"; then
      echo "$name: already there"
    else
      echo "$name: fetching $bytes bytes from $base"
      fetch "$name" "$bytes" "$sum" "$base" "$2"
    fi
  done <<< "$files"
  while read -r path bytes; do
    [ -n "$path" ] || continue
    name=$2/${path##*/}
    [ -f "$name" ] && [ "$(bytes_of "$name")" = "$bytes" ] || missing=yes
  done <<< "$members"
  if [ -n "$missing" ]; then
    echo "${archive##*/}: unpacking"
    unpack "$archive" "$members" "$2"
  fi
  echo "done: train with --data $prefix$2$suffix"
}

main() {
  local dataset="" out="" base="" tool
  while [ $# -gt 0 ]; do
    case "$1" in
      --help) sed -n '2,/^set /{s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"; exit 0 ;;
      --out | --base)
        [ $# -ge 2 ] && [ -n "$2" ] || usage "$1 has no value."
        if [ "$1" = --out ]; then out=$2; else base=$2; fi
        shift 2
        ;;
      -*) usage "there is no option $1." ;;
      *)
        [ -z "$dataset" ] || usage "there are two datasets: $dataset and $1."
        dataset=$1
        shift
        ;;
    esac
  done
  [ -n "$dataset" ] || usage "there is no dataset: name mnist, fashion, cifar10 or tinyshakespeare."
  [ -n "$out" ] || usage "--out is missing."
  for tool in curl sha256sum tar gzip; do
    command -v "$tool" > /dev/null || fail "$tool is missing. Install it."
  done
  [ "$out" = / ] || out=${out%/}
  get "$dataset" "$out" "$base"
}

# Sourced, it only defines its functions.
if [ "${BASH_SOURCE[0]}" = "$0" ]; then main "$@"; fi
