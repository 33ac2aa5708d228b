#!/usr/bin/env bash
# Sets up, builds, trains a small CNN on images that the program draws itself, and compares the
# memory that training takes eagerly, captured, with checkpointing and under budgets.
. "$(dirname "$0")/setup.sh" -DPLIMSOLL_TESTS=OFF
cmake --build build
build/bin/train_cnn --model lenet --data builtin --epochs 2
build/bin/compare_memory --models lenet,resnet8 --precisions f32 --budgets 50,smallest
