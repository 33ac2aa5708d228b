"""Training steps of Plimsoll and of PyTorch on this CPU, side by side.

    compare.py --train-steps build/bin/train_steps [--models lenet,gpt] [--rounds 5] [--compile]
               [--budget 75] [--precision bf16]

Both start from the same weights and eat the same batches. The processes are alive at the same time
and take turns of about half a second, so that a change of the machine's clock meets both. Time per
step is the median over all turns; PyTorch's is that of its fastest variant (as it comes, or with
channels_last). Memory is the peak of the process, with and without what it held before the model.
With --budget Plimsoll has that percentage of the bytes that its step is planned for otherwise. In
bf16 PyTorch runs its autocast; then the losses of the first step alone are compared, to 2 %.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

# Dropout draws other masks in the two programs: there only the size of the losses is compared. The
# losses of the large residual nets jump: orders of summing alone move them by up to 8e-3.
LOSS_TOLERANCE = {"lenet": 1e-4, "resnet8": 1e-3, "vgg": 2e-3, "gpt": 1e-4, "textcls": 5e-2,
                  "gpt2-124M": 1e-4, "resnet50": 1e-2, "resnet18-cifar": 1e-2}
COMPARED_STEPS = 5
IMAGE_MODELS = ("lenet", "resnet8", "vgg", "resnet50", "resnet18-cifar")
# glibc gives large blocks back to the system at every free; PyTorch runs faster without.
MALLOC = {"MALLOC_MMAP_THRESHOLD_": str(1 << 33), "MALLOC_TRIM_THRESHOLD_": str(1 << 33)}


class Runner:
    def __init__(self, name, command, environment=None):
        self.name, self.ms, self.losses, self.others = name, [], [], []
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env={**os.environ, **(environment or {})})

    def run(self, steps, timed=True):
        print(steps, file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"compare: {self.name} ended early with code {self.process.wait()}.")
        answer = self.last = json.loads(line)
        self.losses += answer["loss"]
        self.peak, self.start = answer["peak_kib"] / 1024, answer["start_kib"] / 1024
        if timed:
            self.ms += answer["ms"]
        return answer["ms"]

    def median(self):
        return statistics.median(self.ms)

    def end(self):
        self.process.stdin.close()
        for process in [self.process, *self.others]:
            process.wait()


def take_turns(runners, rounds):
    steps = []
    for runner in runners:
        runner.run(COMPARED_STEPS, timed=False)
        warm = statistics.median(runner.run(3, timed=False))
        steps.append(max(2, int(500 / warm)))
    for _ in range(rounds):
        for runner, n in zip(runners, steps):
            runner.run(n)
    for runner in runners:
        runner.end()


def check_losses(model, ours, theirs, tolerance):
    for step, (a, b) in enumerate(zip(ours, theirs), 1):
        if not abs(a - b) <= tolerance * abs(b):
            sys.exit(f"compare: {model}: the losses of step {step} differ: {a} and {b}.")


def compare(model, options):
    with tempfile.TemporaryDirectory() as folder:
        common = ["--model", model, "--threads", str(options.threads),
                  "--precision", options.precision]
        ours = [options.train_steps, *common]
        subprocess.run(ours + ["--write", folder], check=True)
        torch = [sys.executable, os.path.join(os.path.dirname(__file__), "torch_steps.py"),
                 "--read", folder, *common]
        variants = [("eager", [])]
        if model in IMAGE_MODELS:
            variants.append(("channels_last", ["--channels-last"]))
        if options.compile:
            variants += [(name + " compiled", extra + ["--compile"]) for name, extra in variants]
        budget = ["--budget-percent", str(options.budget)]
        runners = [Runner("plimsoll", ours + ["--read", folder] + budget)]
        runners += [Runner(name, torch + extra, MALLOC) for name, extra in variants]
        take_turns(runners, options.rounds)

    plimsoll, *torches = runners
    compared, tolerance = COMPARED_STEPS, LOSS_TOLERANCE[model]
    if options.precision != "f32":
        compared, tolerance = 1, max(2e-2, tolerance)
    for other in torches:
        check_losses(model, plimsoll.losses[:compared], other.losses, tolerance)
    best = min(torches, key=Runner.median)
    print(f"{model:14} {plimsoll.median():9.1f} {best.median():9.1f}  {best.name:22}"
          f"{plimsoll.median() / best.median():6.2f}   {plimsoll.peak:6.0f} {best.peak:6.0f}"
          f"{plimsoll.peak / best.peak:6.2f}   {plimsoll.peak - plimsoll.start:6.0f}"
          f" {best.peak - best.start:6.0f}"
          f"{(plimsoll.peak - plimsoll.start) / (best.peak - best.start):6.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--train-steps", required=True)
    parser.add_argument("--models", default="lenet,resnet8,vgg,gpt,textcls")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--budget", type=int, default=100, help="percent")
    parser.add_argument("--precision", choices=("f32", "bf16"), default="f32")
    parser.add_argument("--compile", action="store_true", help="torch.compile as well")
    options = parser.parse_args()

    import torch
    blas = "MKL" if torch.backends.mkl.is_available() else "no MKL"
    print(f"PyTorch {torch.__version__}, {blas}, "
          f"{torch.backends.cpu.get_cpu_capability()}, {options.threads} threads, "
          f"{options.precision}, {options.budget} % of Plimsoll's memory\n"
          "                    ms a step                              peak process MiB"
          "      above the start MiB\n"
          "model           plimsoll   pytorch  variant                ratio   ours  torch ratio"
          "     ours  torch ratio")
    for model in options.models.split(","):
        compare(model, options)


if __name__ == "__main__":
    main()
