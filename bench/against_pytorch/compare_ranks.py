"""Training by several processes, of Plimsoll and of PyTorch: in stage 0 beside
DistributedDataParallel, in stage 3 beside FSDP2, both over gloo.

    compare_ranks.py --train-steps build/bin/train_steps [--mpirun mpirun] [--ranks 2]
                     [--models lenet,gpt] [--rounds 7]

Each process has one thread and a batch of its own, so that N ranks do N times the work of one in
the same time at best; needs as many cores. All are alive at the same time and take turns, as in
compare.py: one process and N ranks in each stage, of either side, and of ours N that exchange
nothing, which say what the machine allows. Memory is the peak of one process.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

from compare import COMPARED_STEPS, LOSS_TOLERANCE, MALLOC, Runner, check_losses, take_turns

# As root too. OpenMP of PyTorch does not spin: cores are those of the ranks whose turn it is.
OPEN_MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none",
            "OMP_WAIT_POLICY": "passive"}


STAGES = (0, 3)


class Apart:
    """Processes that have nothing to do with each other, all in one turn."""

    def __init__(self, command, n):
        self.runners = [Runner("Plimsoll", command) for _ in range(n)]

    def run(self, steps, timed=True):
        with ThreadPoolExecutor(len(self.runners)) as threads:
            return sum(threads.map(lambda runner: runner.run(steps, timed), self.runners), [])

    def median(self):
        return statistics.median(sum((runner.ms for runner in self.runners), []))

    def end(self):
        for runner in self.runners:
            runner.end()


def torch_ranks(command, n, meet):
    ranks = [Runner("PyTorch", command + ["--ranks", str(n), "--rank", str(r), "--meet", meet],
                    MALLOC) for r in range(n)]
    ranks[0].others = [other.process for other in ranks[1:]]
    return ranks[0]


def compare(model, options):
    n = options.ranks
    with tempfile.TemporaryDirectory() as folder:
        ours = [options.train_steps, "--model", model, "--threads", "1"]
        subprocess.run(ours + ["--write", folder], check=True)
        ours += ["--read", folder]
        torch = [sys.executable, os.path.join(os.path.dirname(__file__), "torch_steps.py"),
                 "--model", model, "--read", folder, "--threads", "1"]
        ranks = [options.mpirun, "-n", str(n), *ours, "--ranks", str(n), "--shard"]
        runners = [Runner("Plimsoll", ours)]
        runners += [Runner("Plimsoll", ranks + [str(stage)], OPEN_MPI) for stage in STAGES]
        runners.append(Runner("PyTorch", torch, MALLOC))
        runners += [torch_ranks(torch + ["--shard"] * (stage > 0), n,
                                os.path.join(folder, f"meet{stage}")) for stage in STAGES]
        apart = Apart(ours, n)
        take_turns([*runners, apart], options.rounds)
    half = len(runners) // 2
    for a, b in zip(runners[:half], runners[half:]):
        # Adam's first steps go by the sign of what may be a sum of opposites.
        check_losses(model, a.losses[:COMPARED_STEPS], b.losses, 10 * LOSS_TOLERANCE[model])
    one, torch_one = runners[0], runners[half]
    for stage, several, other in zip(STAGES, runners[1:half], runners[half + 1:]):
        print(f"{model:10}{stage:6}  {one.median():8.1f} {apart.median():8.1f}"
              f" {several.median():8.1f}{one.median() / apart.median():7.2f}"
              f"{one.median() / several.median():7.2f}  {torch_one.median():8.1f}"
              f" {other.median():8.1f}{torch_one.median() / other.median():7.2f}"
              f"  {several.median() / other.median():6.2f}   {several.peak:6.0f}"
              f" {other.peak:6.0f} {several.peak / other.peak:6.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--train-steps", required=True)
    parser.add_argument("--mpirun", default="mpirun")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--models", default="lenet,resnet8,gpt")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    n = options.ranks
    print(f"ms a step   stage  Plimsoll: 1 rank, {n} apart, {n} ranks, ratios   PyTorch: 1, {n},"
          " ratio   ours/its   MiB of a process: ours, its, ratio")
    for model in options.models.split(","):
        compare(model, options)


if __name__ == "__main__":
    main()
