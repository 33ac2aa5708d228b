#!/usr/bin/env bash
# Ranks on two hosts that are none: two network namespaces, joined by a link of a given rate, with a
# host name each (else Open MPI takes them for one machine and uses shared memory). Says whether
# the bits are those of one rank, how much of the exchange a step waits for, and that ranks end
# where the link is cut at a random moment, within three timeouts, as long as others wait for a
# save, and 5 s, and resume. Needs Linux, root and Open MPI.
#
#   tests/rank_network.sh BIN_FOLDER
#   RATES="1gbit 100mbit" CUTS=20 EPOCHS=40 SEED=1 TIMEOUT=2 tests/rank_network.sh build/bin
set -uo pipefail
exec < /dev/null  # a launcher in the background must not ask the terminal
bin="$(cd "$1" && pwd)"
rates="${RATES:-1gbit}" cuts="${CUTS:-2}" timeout="${TIMEOUT:-2}"
RANDOM="${SEED:-1}"
a="plimsoll-a-$$" b="plimsoll-b-$$"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

folder="$(mktemp -d)"
cleanup() {
  ip netns del "$a" 2> /dev/null
  ip netns del "$b" 2> /dev/null
  rm -rf "$folder"
}
trap cleanup EXIT
: > "$folder/wrong"
complain() { echo "WRONG: $*" | tee -a "$folder/wrong" >&2; }  # in a subshell too

for host in "$a" "$b"; do
  ip netns add "$host" || { echo "this machine allows no network namespaces"; exit 1; }
  ip -n "$host" link set lo up
done
ip -n "$a" link add link0 type veth peer name link0 netns "$b"
ip -n "$a" addr add 10.99.0.1/24 dev link0
ip -n "$b" addr add 10.99.0.2/24 dev link0
link() {  # up | down
  ip -n "$a" link set link0 "$1"
  ip -n "$b" link set link0 "$1"
}
link up
rate() {  # RATE
  for host in "$a" "$b"; do
    ip netns exec "$host" tc qdisc replace dev link0 root tbf rate "$1" burst 128kb latency 100ms
  done
}

# What mpirun starts on another host by: HOST COMMAND...
cat > "$folder/agent" << AGENT
#!/usr/bin/env bash
shift
exec ip netns exec $b unshare --uts sh -c "hostname host-b; \$*"
AGENT
chmod +x "$folder/agent"
on_two_hosts() {  # COMMAND...
  ip netns exec "$a" unshare --uts sh -c 'hostname host-a; exec "$@"' mpirun mpirun -n 2 \
    --host host-a:1,host-b:1 --bind-to none --mca plm_rsh_agent "$folder/agent" \
    --mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include link0 \
    --mca oob_tcp_if_include link0 \
    sh -c 'echo $$ > '"$folder"'/pid.$OMPI_COMM_WORLD_RANK; exec "$@"' rank "$@"
}

saved() { python3 "$(dirname "$0")/saved_bytes.py" "$1/saves"; }

differing() {  # RUN OTHER
  echo $(($(cmp -l "$1/log.csv" "$2/log.csv" 2>&1 | wc -l) +
    $(cmp -l <(saved "$1") <(saved "$2") 2>&1 | wc -l)))
}

# ---- bits
train="$bin/train_cnn --model lenet --epochs ${EPOCHS:-8} --batch 40 --accumulate 8 --log-every 1 \
  --save-every 50 --comm-timeout $timeout"
$train --ranks 1 --run "$folder/one" > "$folder/output" 2>&1 || complain "one rank fails"
rate 1gbit
on_two_hosts $train --ranks 2 --run "$folder/two" > "$folder/output" 2>&1 ||
  complain "two hosts fail: $(tail -c 500 "$folder/output")"
bytes="$(differing "$folder/one" "$folder/two")"
echo "two hosts over TCP against one rank: $bytes bytes differ"
[ "$bytes" = 0 ] || complain "the bits are others"

# ---- time: of an update of one batch a rank. An eager step exchanges behind the
# backward pass, a captured one beside it. Of two lengths the difference counts, without what a
# training does once.
cat "$(dirname "$0")"/../docs/*.md | head -c 60000 > "$folder/text"
steps="${STEPS:-10}"
seconds_of() {  # UPDATES COMMAND...
  local updates="$1"
  shift
  "$@" --steps "$updates" --json "$folder/figures.json" > "$folder/output" 2>&1 ||
    complain "$(tail -c 500 "$folder/output")"
  sed -n 's/.*"seconds": *\([0-9.]*\).*/\1/p' "$folder/figures.json"
}
milliseconds_of() {  # COMMAND...
  awk -v n="$steps" -v a="$(seconds_of "$steps" "$@")" -v b="$(seconds_of $((3 * steps)) "$@")" \
    'BEGIN { printf "%.0f", (b - a) / (2 * n) * 1000 }'
}
for mode in captured eager; do for stage in 0 3; do
  gpt="$bin/train_transformer --layers 4 --width 256 --heads 8 --context 256 --batch 8 \
    --data text:$folder/text --eval-every 1000000 --threads 1 --mode $mode --shard $stage"
  alone="$(milliseconds_of $gpt --ranks 1)"
  for rate in $rates; do
    rate "$rate"
    hosts="$(milliseconds_of on_two_hosts $gpt --accumulate 2 --ranks 2)"
    echo "$mode, stage $stage, $rate: an update takes $hosts ms on two hosts, $alone ms on one"
  done
done; done

# ---- cuts: of one training, which goes on each time
milliseconds() { echo $(($(date +%s%N) / 1000000)); }
lives() {
  local state
  state="$(sed 's/.*) //; s/ .*//' "/proc/$1/stat" 2> /dev/null)" && [ "$state" != Z ]
}
any_rank_lives() {
  for pid in $(cat "$folder"/pid.*); do
    if lives "$pid"; then return 0; fi
  done
  return 1
}
rate 1gbit
longest=0
resume() { if [ -n "$(ls -A "$folder/cut/saves" 2> /dev/null)" ]; then echo --resume; fi; }
rows() { cat "$folder/cut/log.csv" 2> /dev/null | wc -l; }
for ((i = 0; i < cuts; ++i)); do
  rm -f "$folder"/pid.*
  before="$(rows)"
  # shellcheck disable=SC2046
  on_two_hosts $train --ranks 2 --run "$folder/cut" $(resume) > "$folder/output" 2>&1 &
  job=$!
  while lives "$job" && [ "$(rows)" = "$before" ]; do sleep 0.05; done
  sleep "0.$((RANDOM % 1000))"
  link down
  begin="$(milliseconds)"
  while any_rank_lives && [ $(($(milliseconds) - begin)) -lt $((1000 * (3 * timeout + 5))) ]; do
    sleep 0.02
  done
  took=$(($(milliseconds) - begin))
  longest=$((took > longest ? took : longest))
  any_rank_lives && complain "a rank lives ${took} ms after the cut"
  sleep 1
  grep -Eq "rank [01] of 2: in (all_to_all|all_gather|broadcast|close).*nothing has come" \
    "$folder/output" || complain "nobody says what it waits for: $(tail -c 500 "$folder/output")"
  # The launcher does not always notice that all are gone.
  for pid in $(ip netns pids "$a") $(ip netns pids "$b"); do kill -9 "$pid" 2> /dev/null; done
  wait "$job" 2> /dev/null
  link up
done
if [ "$cuts" -gt 0 ]; then
  # shellcheck disable=SC2046
  on_two_hosts $train --ranks 2 --run "$folder/cut" $(resume) > "$folder/output" 2>&1 ||
    complain "it does not go on: $(tail -c 500 "$folder/output")"
  bytes="$(differing "$folder/one" "$folder/cut")"
  echo "cut and resumed against one rank: $bytes bytes differ"
  [ "$bytes" = 0 ] || complain "the bits are others"
fi
echo "$cuts cuts: all ranks gone after at most $longest ms"
wrong="$(grep -c ^WRONG "$folder/wrong")"
echo "$wrong things are wrong"
[ "$wrong" = 0 ]
