#!/usr/bin/env bash
# What a machine with nothing but a driver needs to run tests/on_gpu.sh: the programs of a build
# folder, stripped, with the shared libraries that they are linked with.
#
#   bash tests/carry.sh [BUILD]            # makes BUILD/carried.tar.gz; default: build
#   tar -xzf carried.tar.gz && bash tests/on_gpu.sh carried     # there
#
# Left out are the C and C++ libraries and the driver's, which are the machine's own. Configure with
# -DPLIMSOLL_ARCH=x86-64-v3, which most machines can run, and -DPLIMSOLL_BENCH=ON for train_steps.
# Whoever runs a program without on_gpu.sh names carried/lib in LD_LIBRARY_PATH.
set -euo pipefail
build=$(cd "${1:-build}" && pwd)
to=$build/carried
rm -rf "$to"
mkdir -p "$to/bin" "$to/lib"
own='/(ld-linux.*|lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s|cuda))\.so'
for name in op_tests unit_tests train_cnn train_transformer compare_memory train_steps; do
  if [ ! -e "$build/bin/$name" ]; then continue; fi
  strip -o "$to/bin/$name" "$build/bin/$name"
  if ldd "$build/bin/$name" | grep 'not found' >&2; then exit 1; fi
  ldd "$build/bin/$name" | awk '$3 ~ /^\// { print $3 }' | { grep -Ev "$own" || true; }
done | sort -u | while read -r library; do
  if [[ $library == */glibc-hwcaps/* && $library == "$build"/* ]]; then
    echo 'carry: the build has a library for each level, and this is for one machine. Configure' \
      'with -DPLIMSOLL_ARCH=x86-64-v3.' >&2
    exit 1
  fi
  strip -o "$to/lib/$(basename "$library")" "$library"
done
tar -czf "$to.tar.gz" -C "$build" carried
du -h "$to.tar.gz"
