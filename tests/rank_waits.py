"""Says how long an update of ranks that train right now takes, and of that how long their first
threads compute, are ready but have no core, and sleep, which is waiting for other ranks: by the
scheduler of Linux (/proc/PID/schedstat), whatever others do with the cores.

    python3 rank_waits.py LOG BATCHES SECONDS PID...

LOG is the log.csv of the run, with a row for each batch (--log-every 1); an update has BATCHES.
Waits for an update of the training and looks at those of SECONDS; prints medians of the ranks.
"""

import os
import statistics
import sys
import time

log, batches, seconds, *pids = sys.argv[1:]


def rows():
    with open(log) as file:
        return sum(1 for line in file) - 1


def at_update():
    """The time, the updates that are over, and each rank's seconds of computing and being ready."""
    before = rows() // int(batches)
    while rows() // int(batches) == before:
        for pid in pids:
            os.stat(f"/proc/{pid}")  # a rank that has ended makes no update
        time.sleep(0.002)
    now = time.monotonic()
    ranks = []
    for pid in pids:
        with open(f"/proc/{pid}/task/{pid}/schedstat") as file:
            ranks.append([int(word) / 1e9 for word in file.read().split()[:2]])
    return now, rows() // int(batches), ranks


first = last = at_update()
while last[0] - first[0] < float(seconds):
    last = at_update()
updates = last[1] - first[1]
all_of_it = (last[0] - first[0]) / updates * 1000


def of_ranks(k):
    return statistics.median((b[k] - a[k]) / updates * 1000 for a, b in zip(first[2], last[2]))


computes, ready = of_ranks(0), of_ranks(1)
print(f"{all_of_it:.0f} ms an update, of which ranks compute {computes:.0f}, have no core for "
      f"{ready:.0f}, and wait for {all_of_it - computes - ready:.0f}")
