#!/usr/bin/env bash
# Trains the same on 1, 2, 4 and 8 ranks by mpirun, which share out nothing, optimizer state or
# parameters too, and compares what is left behind: weights, optimizer, running statistics, loss
# scale, log. Prints a line for each comparison and how many bytes differ in all; exit code 1 where
# any does.
#
#   tests/ranks.sh BIN_FOLDER [MPIEXEC]               everything: some minutes
#   RANKS="2 4" SHARDS="0 3" TYPES=f32 MODES=captured tests/ranks.sh build/bin mpiexec.mpich
#
# BIN_FOLDER has train_cnn and train_transformer, built for the MPI of MPIEXEC.
set -uo pipefail
bin="$1"
launch="${2:-mpirun}"
models="${MODELS:-lenet resnet8 gpt}"
types="${TYPES:-f32 bf16 f16}"
modes="${MODES:-captured eager}"
ranks="${RANKS:-2 4 8}"
shards="${SHARDS:-0 1 2 3}"
# More ranks than cores, as root too. MPICH does not look at these.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
different=0

program() {  # MODEL
  case "$1" in
    # 250 batches: 31 windows of 8 and one of 2. A high rate, so that little differences grow.
    lenet) echo "$bin/train_cnn --model lenet --epochs 1 --batch 40" ;;
    resnet8) echo "$bin/train_cnn --model resnet8 --epochs 1 --batch 40" ;;
    gpt) echo "$bin/train_transformer --steps 20 --eval-every 10 --layers 2 --width 32 \
               --context 32 --dropout 0.1 --batch 4" ;;  # clips; f16 scales its loss
  esac
}

train() {  # RUN N ARGUMENTS...
  local run="$1" n="$2"
  shift 2
  local start=("$launch" -n "$n")
  [ "$n" = 1 ] && start=()
  "${start[@]}" "$@" --threads 1 --ranks "$n" --accumulate 8 --log-every 1 --run "$run" \
    > "$run.out" 2>&1 ||
    { echo "FAILED on $n ranks: $*"; cat "$run.out"; different=$((different + 1)); }
}

saved() { python3 "$(dirname "$0")/saved_bytes.py" "$folder/$1/saves"; }

for model in $models; do
  for type in $types; do
    read -ra command <<< "$(program "$model") --precision $type"
    train "$folder/one" 1 "${command[@]}"
    for mode in $modes; do
      for setup in $(for n in $ranks; do for shard in $shards; do echo "$n:$shard"; done; done); do
        n="${setup%:*}" shard="${setup#*:}"
        train "$folder/run" "$n" "${command[@]}" --mode "$mode" --shard "$shard"
        bytes=$(cmp -l "$folder/one/log.csv" "$folder/run/log.csv" 2>&1 | wc -l)
        bytes=$((bytes + $(cmp -l <(saved one) <(saved run) 2>&1 | wc -l)))
        echo "$model $type $mode, $n ranks in stage $shard against 1: $bytes bytes differ"
        different=$((different + bytes))
        rm -rf "$folder/run"
      done
    done
    rm -rf "$folder/one"
  done
done
echo "$different bytes differ in all"
[ "$different" = 0 ]
