#!/usr/bin/env bash
# One command: builds train_steps, installs PyTorch into an environment of its own (build/pytorch)
# and prints the table of compare.py, whose options it takes:
#
#   bench/against_pytorch/run.sh --models lenet,gpt --rounds 9
#
# or on a GPU that of compare_gpu.py: run.sh --gpu [--smoke]
# or of several processes that of compare_ranks.py: run.sh --processes [--ranks 2]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
extra_packages="libbenchmark-dev python3-venv"
source cmake/setup.sh -DPLIMSOLL_BENCH=ON
cmake --build build --target train_steps
if ! build/pytorch/bin/python -c "import torch, numpy" 2>/dev/null; then
  python3 -m venv build/pytorch
  build/pytorch/bin/pip install --quiet torch numpy
fi
script=compare.py
if [ "${1:-}" = --gpu ]; then
  script=compare_gpu.py
  shift
elif [ "${1:-}" = --processes ]; then
  script=compare_ranks.py
  shift
fi
exec build/pytorch/bin/python "bench/against_pytorch/$script" \
  --train-steps build/bin/train_steps "$@"
