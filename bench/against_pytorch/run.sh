#!/usr/bin/env bash
# One command: builds train_steps, installs PyTorch into an environment of its own (build/pytorch)
# and prints the table of compare.py, whose options it takes:
#
#   bench/against_pytorch/run.sh --models lenet,gpt --rounds 9
#
# or on a GPU that of compare_gpu.py: run.sh --gpu [--smoke]
# or of fine-tuning, beside PEFT and bitsandbytes, that of compare_tuning.py: run.sh --tuning
# or of several processes that of compare_ranks.py: run.sh --processes [--ranks 2]
# or on a machine that others use too that of compare_busy.py: run.sh --busy [--models lenet,gpt]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
extra_packages="libbenchmark-dev python3-venv"
source cmake/setup.sh -DPLIMSOLL_BENCH=ON
program=train_steps packages="torch numpy"
if [ "${1:-}" = --tuning ]; then
  program=tune_steps packages="torch numpy transformers peft bitsandbytes accelerate safetensors"
fi
cmake --build build --target "$program"
if ! build/pytorch/bin/python -c "import ${packages// /, }" 2>/dev/null; then
  python3 -m venv build/pytorch
  # shellcheck disable=SC2086
  build/pytorch/bin/pip install --quiet $packages
fi
script=compare.py
if [ "${1:-}" = --gpu ]; then
  script=compare_gpu.py
  shift
elif [ "${1:-}" = --tuning ]; then
  script=compare_tuning.py
  shift
elif [ "${1:-}" = --processes ]; then
  script=compare_ranks.py
  shift
elif [ "${1:-}" = --busy ]; then
  script=compare_busy.py
  shift
fi
exec build/pytorch/bin/python "bench/against_pytorch/$script" \
  "--${program/_/-}" "build/bin/$program" "$@"
