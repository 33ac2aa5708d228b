#!/usr/bin/env bash
# Sets up, builds for this machine and passes the tests. Arguments go to cmake:
# test.sh -DPLIMSOLL_CUDA=ON compiles the CUDA half for a GPU too. Its kernels are tested without:
# they are compiled for the CPU. .ci/run does both, and the levels of the instruction set.
# PLIMSOLL_DATA and PLIMSOLL_FOREIGN name folders with real data and foreign test cases; without
# them the tests that need them are skipped by name.
. "$(dirname "$0")/setup.sh" -DPLIMSOLL_TESTS=ON -DPLIMSOLL_CUDA=OFF "$@"
cmake --build build
ctest --preset release --parallel "$(nproc)"
