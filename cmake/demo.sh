#!/usr/bin/env bash
# Sets up, builds, trains a small CNN on images that the program draws itself, and compares the
# memory that training takes eagerly, captured, with checkpointing and under budgets. Only these two
# programs are built, for the CPU; arguments go to cmake: demo.sh -DPLIMSOLL_CUDA=ON
. "$(dirname "$0")/setup.sh" -DPLIMSOLL_TESTS=OFF -DPLIMSOLL_CUDA=OFF "$@"
cmake --build build --target train_cnn compare_memory
build/bin/train_cnn --model lenet --data builtin --epochs 2
build/bin/compare_memory --models lenet,resnet8 --precisions f32 --budgets 50,smallest
