#!/usr/bin/env bash
# Everything that needs a GPU, from a build folder on a machine that may have nothing else installed
# (tests/carry.sh makes one that can be carried there):
#
#   bash tests/on_gpu.sh [BUILD [ROWS]]    # default: build, and all rows
#
# ROWS is a pattern of names, as in 'kernels|steps|lenet', for a machine that is lent for minutes.
# First come those that say whether the kernels are right, then trainings on both devices, then
# compute-sanitizer where it is found. Prints a table; the exit status is the number of rows that
# failed, and a row whose libraries were missing failed. PLIMSOLL_DATA names a folder with real data
# (mnist/, tinyshakespeare/); without it the data the programs make is used. NVIDIA's libraries are
# looked for where pip put them, for $PYTHON (default: python3). LIMIT: seconds for a row, default
# 500. Logs lie in BUILD/on_gpu; with OUT set, also in $OUT/on_gpu.tar.gz.
set -uo pipefail
bin=$(cd "${1:-build}" && pwd)/bin || exit 1
rows=${2:-.}
logs=$bin/../on_gpu
mkdir -p "$logs"
rm -f "$logs"/*.log
from_pip=$("${PYTHON:-python3}" - 2>/dev/null <<'END'
import glob, nvidia
print(":".join(folder for path in nvidia.__path__ for folder in glob.glob(path + "/*/lib")))
END
)
export PLIMSOLL_CUDA_LIBRARIES=${PLIMSOLL_CUDA_LIBRARIES:-$from_pip}
export LD_LIBRARY_PATH=$bin/../lib${from_pip:+:$from_pip}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
if [ -n "${OUT:-}" ]; then trap 'tar -czf "$OUT/on_gpu.tar.gz" -C "$bin/.." on_gpu' EXIT; fi
failed=0
images=builtin text=builtin
if [ -d "${PLIMSOLL_DATA:-}/mnist" ]; then images=mnist:$PLIMSOLL_DATA/mnist; fi
if [ -d "${PLIMSOLL_DATA:-}/tinyshakespeare" ]; then
  text=text:$PLIMSOLL_DATA/tinyshakespeare/input.txt
fi

# row NAME PATTERN COMMAND...: runs it, and shows the last line of its output that matches.
row() {
  local name=$1 pattern=$2 start=$SECONDS verdict=ok
  shift 2
  [[ $name =~ $rows ]] || return
  timeout "${LIMIT:-500}" "$@" >"$logs/$name.log" 2>&1 || verdict=FAILED
  if [ $verdict = ok ] && grep -q SKIPPED "$logs/$name.log"; then verdict=partly; fi
  if grep -q 'is missing: there is no' "$logs/$name.log"; then
    verdict=FAILED
    pattern='is missing'
  fi
  if [ $verdict = FAILED ]; then failed=$((failed + 1)); fi
  printf '%-28s %-6s %4d s  %s\n' "$name" "$verdict" $((SECONDS - start)) \
    "$(grep -E "$pattern" "$logs/$name.log" | tail -n 1 | cut -c1-100)"
}

# sharded PROGRAM...: a GoogleTest program, its tests dealt to half as many processes as there are
# cores. What they printed, and the sum of their tests.
sharded() {
  local shards=$((($(nproc) + 1) / 2)) processes=() failed=0 i folder
  folder=$(mktemp -d)
  for ((i = 0; i < shards; ++i)); do
    GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$i "$@" >"$folder/$i" 2>&1 &
    processes+=($!)
  done
  for i in "${processes[@]}"; do wait "$i" || failed=1; done
  cat "$folder"/*
  awk '/PASSED/ { n += $4 } END { print "PASSED in all", n, "tests" }' "$folder"/*
  rm -r "$folder"
  return $failed
}
export -f sharded

if ! nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader; then
  echo 'on_gpu: nvidia-smi finds no GPU. Run this on a machine with one.' >&2
  exit 1
fi
echo "libraries: ${PLIMSOLL_CUDA_LIBRARIES:-the toolkit and the system have them}"
row kernels 'PASSED' bash -c 'sharded "$@"' sharded "$bin/op_tests" --gtest_brief=1 \
  --gtest_filter='*Cuda*'
row device 'PASSED' "$bin/unit_tests" --gtest_brief=1 \
  --gtest_filter='CudaDevice.*'
row steps 'PASSED' "$bin/unit_tests" --gtest_brief=1 --gtest_filter='CudaSteps.*'
for precision in f32 bf16 f16; do
  row "lenet_$precision" 'test accuracy' "$bin/train_cnn" --device cuda --model lenet \
    --data "$images" --epochs 3 --precision $precision
  row "gpt_$precision" 'validation loss' "$bin/train_transformer" --device cuda --model gpt \
    --data "$text" --precision $precision
done
row resnet8_checkpoint 'test accuracy' "$bin/train_cnn" --device cuda --model resnet8 --epochs 1 \
  --checkpoint
row gpt_no_graph 'validation loss' "$bin/train_transformer" --device cuda --model gpt \
  --data "$text" --no-graph
row eager 'validation loss' "$bin/train_transformer" --device cuda --model gpt --steps 100 \
  --mode eager
row planned_is_measured 'captured' "$bin/compare_memory" --device cuda --models lenet,resnet8,gpt \
  --batches 32
# This engine's own kernels: they run alone, as without NVIDIA's libraries.
if command -v compute-sanitizer >/dev/null; then
  for tool in memcheck racecheck initcheck; do
    row "$tool" 'ERROR SUMMARY' env PLIMSOLL_CUDA_LIBRARIES=none bash -c 'sharded "$@"' sharded \
      compute-sanitizer --tool $tool --error-exitcode 1 "$bin/op_tests" --gtest_brief=1 \
      --gtest_filter='Ops/Cuda.*'
  done
fi
if ! ls "$logs"/*.log >/dev/null 2>&1; then
  echo "on_gpu: no row has a name like $rows." >&2
  exit 1
fi
exit $failed
