#!/usr/bin/env bash
# Ranks on two hosts that are none: two network namespaces, joined by a link of a given rate, with a
# host name each (else Open MPI takes them for one machine and uses shared memory). Says whether
# the bits are those of one rank, how much of the exchange a step waits for, and that ranks end
# where the link is cut at a random moment, within three timeouts, as long as others wait for a
# save, and 5 s, and resume. Needs Linux, root and Open MPI.
#
#   tests/rank_network.sh BIN_FOLDER
#   RATES="1gbit 100mbit" CUTS=20 EPOCHS=40 SEED=1 TIMEOUT=2 tests/rank_network.sh build/bin
#   RATES=300mbit CUTS=0 LAYERS=12 SECONDS_EACH=30 tests/rank_network.sh build/bin    # only times
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

end_all() {
  for pid in $(ip netns pids "$a") $(ip netns pids "$b"); do kill -9 "$pid" 2> /dev/null; done
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

# ---- time: of an update of one batch a rank. An eager step exchanges behind the backward pass, a
# captured one beside it. A rank waits for its neighbour's core too, whatever the link: that is what
# it waits for where the link is fast.
cat "$(dirname "$0")"/../docs/*.md | head -c 60000 > "$folder/text"
for mode in captured eager; do for stage in 0 3; do for rate in 10gbit $rates; do
  rate "$rate"
  rm -rf "$folder"/pid.* "$folder/waits"
  on_two_hosts "$bin/train_transformer" --layers "${LAYERS:-12}" --width 256 --heads 8 \
    --context 256 --batch 8 --data "text:$folder/text" --eval-every 1000000 --steps 1000000 \
    --threads 1 --mode "$mode" --shard "$stage" --accumulate 2 --ranks 2 --log-every 1 \
    --run "$folder/waits" > "$folder/output" 2>&1 &
  job=$!
  sleep 10
  waits="$(timeout 300 python3 "$(dirname "$0")/rank_waits.py" "$folder/waits/log.csv" 2 \
    "${SECONDS_EACH:-30}" $(cat "$folder"/pid.*))" || complain "$(tail -c 500 "$folder/output")"
  echo "$mode, stage $stage, $rate: $waits"
  end_all
  wait "$job" 2> /dev/null
done; done; done

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
  grep -Eq "rank [01] of 2: in (all_to_all|all_gather|broadcast|close).*which is not done" \
    "$folder/output" || complain "nobody says what it waits for: $(tail -c 500 "$folder/output")"
  end_all  # the launcher does not always notice that all are gone
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
