#!/usr/bin/env bash
# One training by several ranks that is hit again and again: a rank is killed (kill -9) or stopped
# (SIGSTOP) at a random moment, or killed while they save, and the training resumed from its newest
# save. Every rank must be gone within three timeouts, as long as others wait for a save, and 5 s; a
# stopped one must be told in a sentence with a rank and a collective, nobody may be left over, and
# in the end the weights, the optimizer's state and the log must be those of a training that nothing
# happened to. Exit code 1 where anything is not.
#
#   tests/rank_faults.sh BIN_FOLDER [MPIEXEC]
#   KILLS=50 STOPS=20 SAVES=30 RANKS=2 SEED=1 TIMEOUT=2 tests/rank_faults.sh build/bin mpiexec.mpich
set -uo pipefail
bin="$1"
launch="${2:-mpirun}"
kills="${KILLS:-5}" stops="${STOPS:-2}" saves="${SAVES:-3}"
ranks="${RANKS:-2}" timeout="${TIMEOUT:-2}"
RANDOM="${SEED:-1}"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
wrong=0
complain() { echo "WRONG: $*"; wrong=$((wrong + 1)); }

# 250 batches an epoch, a save every 50.
train="$bin/train_cnn --model lenet --epochs ${EPOCHS:-40} --batch 40 --accumulate 8 --log-every 1 \
  --save-every 50 --ranks $ranks --comm-timeout $timeout"

# Each rank leaves its number: of Open MPI, or of MPICH.
start() {  # OUTPUT ARGUMENTS...
  local output="$1"
  shift
  "$launch" -n "$ranks" sh -c \
    'echo $$ > '"$folder"'/pid.$OMPI_COMM_WORLD_RANK$PMI_RANK; exec "$@"' rank $train "$@" \
    > "$output" 2>&1 < /dev/null &
  job=$!
}

# Who is dead, and has not been asked for its code, does not live.
lives() {
  local state
  state="$(sed 's/.*) //; s/ .*//' "/proc/$1/stat" 2> /dev/null)" && [ "$state" != Z ]
}
any_lives() {
  local pid
  for pid in "$job" $(cat "$folder"/pid.*); do
    if lives "$pid"; then return 0; fi
  done
  return 1
}

milliseconds() { echo $(($(date +%s%N) / 1000000)); }

resume() { if ls "$folder"/hit/saves/*/*.index.json > /dev/null 2>&1; then echo --resume; fi; }

# A set whose index is not there yet.
saving() {
  local set
  for set in "$folder"/hit/saves/step-*/; do
    if [ -d "$set" ] && [ ! -e "$set/model.safetensors.index.json" ]; then return 0; fi
  done
  return 1
}

rows() { cat "$folder/hit/log.csv" 2> /dev/null | wc -l; }

hit() {  # SIGNAL, or SAVE: SIGKILL while they save
  local output="$folder/output" begin seconds before
  before="$(rows)"
  rm -f "$folder"/pid.*
  # shellcheck disable=SC2046
  start "$output" --run "$folder/hit" $(resume)
  # Killed also while it starts. Stopped once it trains: until it has heard of all, a rank waits ten
  # times as long.
  while [ "$1" = STOP ] && lives "$job" && [ "$(rows)" = "$before" ]; do sleep 0.02; done
  if [ "$1" = SAVE ]; then
    while lives "$job" && saving; do :; done  # what the one before left
    while lives "$job" && ! saving; do :; done
    sleep "0.$(printf %03d $((RANDOM % 300)))"  # or the old set would be there each time
  else
    sleep "$((RANDOM % 3)).$((RANDOM % 1000))"
  fi
  local numbers=("$folder"/pid.*)
  while [ ! -s "${numbers[0]}" ]; do sleep 0.02; numbers=("$folder"/pid.*); done
  kill -"${1/SAVE/KILL}" "$(cat "${numbers[RANDOM % ${#numbers[@]}]}")" 2> /dev/null
  begin="$(milliseconds)"
  while any_lives && [ $(($(milliseconds) - begin)) -lt $((1000 * (3 * timeout + 5))) ]; do
    sleep 0.02
  done
  seconds=$((($(milliseconds) - begin)))
  if any_lives; then
    complain "after $1 somebody lives for ${seconds} ms"
    # shellcheck disable=SC2046
    kill -9 "$job" $(cat "$folder"/pid.*) 2> /dev/null
  fi
  wait "$job" && finished=1
  longest=$((seconds > longest ? seconds : longest))
  [ "$1" = STOP ] && [ "$finished" = 0 ] && ! grep -Eq \
    "rank [0-9]+ of $ranks: in (all_to_all|all_gather|broadcast|close).*which is not done" \
    "$output" && complain "nobody says what it waits for: $(tail -c 500 "$output")"
  return 0
}

finish() {  # RUN ARGUMENTS...
  local run="$1"
  shift
  start "$folder/output" --run "$folder/$run" "$@"
  wait "$job" || complain "a training fails: $(tail -c 500 "$folder/output")"
}

saved() { python3 "$(dirname "$0")/saved_bytes.py" "$folder/$1/saves"; }

compare() {
  local bytes
  bytes=$(cmp -l "$folder/whole/log.csv" "$folder/hit/log.csv" 2>&1 | wc -l)
  bytes=$((bytes + $(cmp -l <(saved whole) <(saved hit) 2>&1 | wc -l)))
  echo "resumed against uninterrupted: $bytes bytes differ"
  [ "$bytes" = 0 ] || complain "the bits are others"
}

finish whole
trainings=0
for signal in KILL STOP SAVE; do
  count=$kills longest=0 torn=0
  [ "$signal" = STOP ] && count=$stops
  [ "$signal" = SAVE ] && count=$saves
  for ((i = 0; i < count; ++i)); do
    finished=0
    hit "$signal"
    if saving; then torn=$((torn + 1)); fi
    if [ "$finished" = 1 ]; then  # it was over: the next one begins anew
      compare
      rm -rf "$folder/hit"
      trainings=$((trainings + 1))
    fi
  done
  echo "$count x $signal: all ranks gone after at most $longest ms, $torn sets left unfinished"
done
# shellcheck disable=SC2046
finish hit $(resume)
compare
echo "$wrong things are wrong"
[ "$wrong" = 0 ]
