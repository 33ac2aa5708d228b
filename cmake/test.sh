#!/usr/bin/env bash
# Sets up, builds and passes the tests. Arguments go to cmake: test.sh -DPLIMSOLL_WERROR=ON
# PLIMSOLL_DATA and PLIMSOLL_FOREIGN name folders with real data and foreign test cases; without
# them the tests that need them are skipped by name.
arch=native
if [ "$(uname -m)" = x86_64 ]; then arch=levels; fi  # its tests run at every level of the processor
. "$(dirname "$0")/setup.sh" -DPLIMSOLL_TESTS=ON -DPLIMSOLL_ARCH=$arch "$@"
cmake --build build
ctest --preset release --parallel "$(nproc)"
