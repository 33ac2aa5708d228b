"""Training steps of Plimsoll and of PyTorch on a machine that others use too.

    run.sh --busy [--models lenet,gpt] [--rounds 5]

Both take turns as in compare.py: alone; beside processes that keep one core or all cores busy, at
the same priority and at the lowest; with twice as many threads as cores; and, where this user may
make a control group, in one whose quota is half a core. "slower" is against the same program alone.
"""
import argparse
import contextlib
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from compare import COMPARED_STEPS, MALLOC, Runner

CORES = os.cpu_count()
# Name, busy processes, their niceness, and which programs run: as they come, of more threads, of
# half a core.
CONDITIONS = [("alone", 0, 0, "own"), ("one busy process", 1, 0, "own"),
              ("a busy process a core", CORES, 0, "own"),
              ("the same, niced", CORES, 19, "own"), ("twice the threads", 0, 0, "more"),
              ("half a core", 0, 0, "half")]


def half_a_core():
    """A control group with that quota, or None where none can be made."""
    for root, quota in (("/sys/fs/cgroup/cpu", ("cpu.cfs_quota_us", "50000")),
                        ("/sys/fs/cgroup", ("cpu.max", "50000 100000"))):
        group = pathlib.Path(root) / f"plimsoll-{os.getpid()}"
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            (group / quota[0]).write_text(quota[1])
            return group
        except OSError:
            group.rmdir()
    return None


def busy(count, niceness):
    return [subprocess.Popen([sys.executable, "-c", "while True: pass"],
                             preexec_fn=lambda: os.nice(niceness)) for _ in range(count)]


def start(options, model, folder, threads, group):
    ours = [options.train_steps, "--model", model, "--read", folder]
    torch = [sys.executable, os.path.join(os.path.dirname(__file__), "torch_steps.py"), "--model",
             model, "--read", folder, "--threads", str(threads)]
    if threads != CORES:
        ours += ["--threads", str(threads)]
    if group:  # the shell enters it and becomes the program
        enter = ["sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "sh"]
        ours, torch = enter + ours, enter + torch
    return [Runner("Plimsoll", ours), Runner("PyTorch", torch, MALLOC)]


def compare(model, options, group):
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as running:
        subprocess.run([options.train_steps, "--model", model, "--write", folder], check=True)
        pairs = {"own": start(options, model, folder, CORES, None),
                 "more": start(options, model, folder, 2 * CORES, None)}
        if group:
            pairs["half"] = start(options, model, folder, CORES, group)
        for runner in sum(pairs.values(), []):
            running.callback(runner.end)
            runner.run(COMPARED_STEPS, timed=False)
        alone = None
        for name, processes, niceness, who in CONDITIONS:
            if who not in pairs:
                continue
            runners = pairs[who]
            others = busy(processes, niceness)
            try:
                times = [[], []]
                for _ in range(options.rounds):
                    for runner, ms in zip(runners, times):
                        first = runner.run(1)
                        ms += first + runner.run(max(2, int(500 / first[0])))
            finally:
                for other in others:
                    other.kill()
                    other.wait()
            ours, theirs = (statistics.median(ms) for ms in times)
            alone = alone or (ours, theirs)
            print(f"{model:10} {name:22}{ours:9.1f} {theirs:9.1f} {ours / theirs:6.2f}"
                  f"{ours / alone[0]:9.2f} {theirs / alone[1]:9.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--train-steps", required=True)
    parser.add_argument("--models", default="lenet,resnet8,gpt,textcls")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    group = half_a_core()
    if not group:
        print("compare_busy: this user may make no control group: no rows of half a core.")
    print("                                  ms a step                    slower than alone\n"
          "model      beside                  plimsoll   pytorch  ratio plimsoll   pytorch")
    try:
        for model in options.models.split(","):
            compare(model, options, group)
    finally:
        if group:
            group.rmdir()


if __name__ == "__main__":
    main()
