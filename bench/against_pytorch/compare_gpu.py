"""Training steps of Plimsoll and of PyTorch on one GPU, in turns: A B A B, three rounds.

    compare_gpu.py --train-steps build/bin/train_steps [--cases gpt2-124M-b4,resnet50]
    compare_gpu.py --train-steps build/bin/train_steps --variants default
    compare_gpu.py --train-steps build/bin/train_steps --smoke    # small and on the CPU: it runs

Both start from the same weights and eat the same batches. A turn is a process of its own, so that
each has the GPU's memory for itself: 30 steps that nobody times and 100 that are timed, PyTorch's
by the GPU's events, Plimsoll's by its own clock with the wait for each loss. PyTorch comes with its
fused optimizer, scaled_dot_product_attention, cudnn.benchmark, channels_last for images, and
--variants of torch.compile. Times are medians over all rounds; memory is the most that the two
allocators had given out (on a CPU the peak of the process); ratios are the share of ours. The
losses of the first step, before anything was learnt, have to agree in all turns (LOSS_TOLERANCE):
else the exit code is 1.
"""
import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

from compare import IMAGE_MODELS, MALLOC, Runner

CASES = {"gpt2-124M-b64": ("gpt2-124M", ["--batch", "64"], "bf16"),
         "gpt2-124M-b4": ("gpt2-124M", ["--batch", "4"], "bf16"),
         "resnet50": ("resnet50", ["--batch", "256"], "f16"),
         "resnet18-cifar": ("resnet18-cifar", ["--batch", "512"], "f16")}
SMALL = {"gpt2-124M-b4": ("gpt2-124M", ["--batch", "2", "--context", "32", "--layers", "2"], "f32"),
         "resnet50": ("resnet50", ["--batch", "4", "--image-size", "64"], "f32"),
         "resnet18-cifar": ("resnet18-cifar", ["--batch", "8"], "bf16")}
VARIANTS = ("eager", "default", "max-autotune", "reduce-overhead")
SHOWN_LOSSES = (1, 10, 100)
LOSS_TOLERANCE = {"f32": 1e-3, "bf16": 2e-2, "f16": 2e-2}  # relative, of the first step


def log_clocks(name):
    if shutil.which("nvidia-smi"):
        fields = "clocks.sm,clocks.mem,power.draw,temperature.gpu,clocks_event_reasons.active"
        line = subprocess.run(["nvidia-smi", "--query-gpu=" + fields, "--format=csv,noheader"],
                              capture_output=True, text=True).stdout.strip()
        print(f"  {name}: clocks {line}", flush=True)


def turn(name, command, environment, options):
    """One process: warm, timed, gone. Returns its times, losses and peak in MiB."""
    runner = Runner(name, command, environment)
    runner.run(options.warm, timed=False)
    runner.run(options.steps)
    log_clocks(name)
    runner.end()
    return runner.ms, runner.losses, runner.peak


def other_losses(turns, precision):
    """A sentence for each turn whose first loss is not that of the very first turn."""
    expected = next(iter(turns.values()))[0][1][0]
    return [f"{name}: the loss of the first step is {losses[0]:.6g} in turn {i + 1}, not "
            f"{expected:.6g} within {LOSS_TOLERANCE[precision]:g} of it."
            for name, all in turns.items() for i, (_, losses, _) in enumerate(all)
            if not abs(losses[0] - expected) <= LOSS_TOLERANCE[precision] * abs(expected)]


def compare(case, options):
    """Prints the table of a case. Returns whether the first losses agree."""
    model, size, precision = (SMALL if options.smoke else CASES)[case]
    here = os.path.dirname(os.path.abspath(__file__))
    with tempfile.TemporaryDirectory() as folder:
        common = ["--model", model, "--threads", str(options.threads)]
        subprocess.run([options.train_steps, *common, *size, "--write", folder], check=True)
        common += ["--read", folder, "--device", options.device, "--precision", precision]
        torch = [sys.executable, os.path.join(here, "torch_steps.py"), *common]
        torch += ["--channels-last"] if model in IMAGE_MODELS else []
        commands = {"ours": [options.train_steps, *common, *size]}
        for variant in options.variants.split(","):
            commands[variant] = torch + ([] if variant == "eager" else ["--compile", variant])
        turns = {name: [] for name in commands}
        for _ in range(options.rounds):
            for name, command in commands.items():
                environment = {} if name == "ours" else MALLOC
                turns[name].append(turn(name, command, environment, options))

    shown = [n for n in SHOWN_LOSSES if n <= options.warm + options.steps]
    print(f"{case}: {model} {' '.join(size)} {precision}\n"
          f"{'':16} ms a step  ratio   (of each round)      peak MiB  ratio  "
          + " ".join(f"  loss {n:3}" for n in shown))
    medians = {name: statistics.median(ms for t in all for ms in t[0])
               for name, all in turns.items()}
    peaks = {name: max(t[2] for t in all) for name, all in turns.items()}
    for name, all in turns.items():
        rounds = " ".join(f"{statistics.median(t[0]):.1f}" for t in all)
        losses = " ".join(f"{all[0][1][n - 1]:10.5f}" for n in shown)
        print(f"{name:16} {medians[name]:9.2f} {medians['ours'] / medians[name]:6.2f}   "
              f"({rounds:18}) {peaks[name]:9.0f} {peaks['ours'] / peaks[name]:6.2f}  {losses}",
              flush=True)
    wrong = other_losses(turns, precision)
    for sentence in wrong:
        print(f"{case}: {sentence}", file=sys.stderr, flush=True)
    return not wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--train-steps", required=True)
    parser.add_argument("--cases")
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--device", help="cuda; with --smoke cpu")
    parser.add_argument("--variants", help="eager and modes of torch.compile")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--warm", type=int)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    options = parser.parse_args()
    usual = {"device": "cuda", "variants": ",".join(VARIANTS), "rounds": 3,
             "warm": 30, "steps": 100, "cases": ",".join(CASES)}
    if options.smoke:
        usual = {"device": "cpu", "variants": "eager", "rounds": 2,
                 "warm": 2, "steps": 8, "cases": ",".join(SMALL)}
    for name, value in usual.items():
        if getattr(options, name) is None:
            setattr(options, name, value)
    known = SMALL if options.smoke else CASES
    for name in options.cases.split(","):
        if name not in known:
            parser.error(f"--cases: {name} is none of {', '.join(known)}.")
    agree = [compare(case, options) for case in options.cases.split(",")]
    sys.exit(0 if all(agree) else 1)


if __name__ == "__main__":
    main()
