#!/usr/bin/env python3
"""Offsets of large sets of buffers: steps of language models whose layers repeat, from 6,000 to a
million buffers, placed by place_offsets and checked by check_offsets, which shares no code with it.

    bench/buffer_sets.py build/bin [--seconds 5] [--layers 100,400,760] [--seed 1]
                         [--beside OTHER/bin]

Prints a row for each size: the arena in parts of the most bytes alive at one moment, and the
processor's time of place_offsets, reading and writing included. The sets are made from seeds: each
run has the same."""
import argparse
import pathlib
import random
import resource
import subprocess
import tempfile


class Step:
    """Ops in order: what they read stays until then, what they write begins."""

    def __init__(self):
        self.buffers, self.now = {}, 0

    def op(self, reads, writes, scratch=0):
        for name, size in writes + ([(f"s{self.now}", scratch)] if scratch else []):
            self.buffers[name] = [self.now, self.now + 1, max(64, int(size) // 64 * 64)]
        for name in reads:
            self.buffers[name][1] = self.now + 1
        self.now += 1

    def csv(self):
        lines = ["id,lower,upper,size"]
        lines += [f"{i},{b},{e},{s}" for i, (b, e, s) in enumerate(self.buffers.values())]
        return "\n".join(lines) + "\n"


def language_model(layers, seed):
    """Forward, backward, the norm of all gradients, and updates."""
    chance = random.Random(seed)
    one = chance.choice([1 << 16, 3 << 15, 5 << 14])
    weights = one * chance.choice([0.3, 0.7, 1.3])
    step, gradients, inputs, x = Step(), [], [], "x"
    step.op([], [(x, one)])
    for n in range(layers):
        step.op([x], [(f"norm{n}", one), (f"mean{n}", one / 64)])
        step.op([f"norm{n}"], [(f"qkv{n}", 3 * one)], one / 3)
        step.op([f"qkv{n}"], [(f"heads{n}", one), (f"lse{n}", one / 32)], one / 2)
        step.op([f"heads{n}"], [(f"out{n}", one)], one / 5)
        step.op([x, f"out{n}"], [(f"mid{n}", one)])
        step.op([f"mid{n}"], [(f"norm2{n}", one), (f"mean2{n}", one / 64)])
        step.op([f"norm2{n}"], [(f"wide{n}", 4 * one)], one / 2)
        step.op([f"wide{n}"], [(f"gelu{n}", 4 * one)])
        step.op([f"gelu{n}"], [(f"narrow{n}", one)], one / 3)
        step.op([f"mid{n}", f"narrow{n}"], [(f"x{n}", one)])
        inputs.append(x)
        x = f"x{n}"
    step.op([x], [("logits", 8 * one)])
    step.op(["logits"], [("loss", 64), ("dlogits", 8 * one)], one)
    step.op(["dlogits", x], [("dx", one), ("ghead", 6 * one)], one)
    gradients.append("ghead")
    d = "dx"

    def back(dy, saved, size, reads, weight):
        name, g = f"d{step.now}", f"g{step.now}"
        step.op([dy], [(name, size)], one / 3)
        step.op([dy, saved] + reads, [(g, weight)], one / 2)
        step.op([dy], [(g + "b", weight / 500)])
        gradients.extend([g, g + "b"])
        return name

    for n in reversed(range(layers)):
        wide = back(d, f"gelu{n}", 4 * one, [], 4 * weights)
        step.op([wide, f"wide{n}"], [(f"dgelu{n}", 4 * one)])
        flat = back(f"dgelu{n}", f"norm2{n}", one, [], 4 * weights)
        step.op([flat, f"mid{n}", f"mean2{n}"], [(f"dnorm2{n}", one), (f"gn2{n}", weights / 500)])
        step.op([d, f"dnorm2{n}"], [(f"dmid{n}", one)])
        heads = back(f"dmid{n}", f"heads{n}", one, [], weights)
        step.op([heads, f"qkv{n}", f"heads{n}", f"lse{n}"], [(f"dqkv{n}", 3 * one)], 2 * one)
        flat = back(f"dqkv{n}", f"norm{n}", one, [], 3 * weights)
        step.op([flat, inputs[n], f"mean{n}"], [(f"dnorm{n}", one), (f"gn{n}", weights / 500)])
        gradients.extend([f"gn2{n}", f"gn{n}"])
        step.op([f"dmid{n}", f"dnorm{n}"], [(f"dx{n}", one)])
        d = f"dx{n}"
    for g in gradients:
        step.op([g], [("n" + g, 64)])
    step.op(["n" + g for g in gradients], [("norm", 64)])
    for g in gradients:
        step.op([g, "norm"], [("c" + g, step.buffers[g][2])])
        step.op(["c" + g], [])
    return step.csv()


def processor_seconds():
    """Of all children so far, in the system's code too."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def place(folder, source, seconds):
    """The height in bytes, seconds of the processor."""
    output = source.with_suffix(".placed")
    before = processor_seconds()
    said = subprocess.run([f"{folder}/place_offsets", "--input", source, "--output", output,
                           "--seconds", str(seconds), "--threads", "1"],
                          capture_output=True, text=True, timeout=100 * seconds + 60)
    took = processor_seconds() - before
    assert said.returncode == 0, said.stdout + said.stderr
    height = int(said.stdout.split("height ")[1].split(",")[0])
    subprocess.run([f"{folder}/check_offsets", "--input", source, "--output", output,
                    "--capacity", str(height)], check=True, capture_output=True)
    return height, took


def most_alive(text):
    change = {}
    for line in text.splitlines()[1:]:
        _, begin, end, size = map(int, line.split(","))
        change[begin] = change.get(begin, 0) + size
        change[end] = change.get(end, 0) - size
    alive = most = 0
    for instant in sorted(change):
        alive += change[instant]
        most = max(most, alive)
    return most


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--layers", default="100,280,400,760,15000")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--beside")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for layers in map(int, options.layers.split(",")):
            text = language_model(layers, options.seed)
            source = pathlib.Path(folder) / "set.csv"
            source.write_text(text)
            bound, row = most_alive(text), f"{text.count(chr(10)) - 1:8d} buffers"
            for build in filter(None, (options.beside, options.folder)):
                height, took = place(build, source, options.seconds)
                row += f"   {height / bound:.5f} in {took:5.1f} s"
            print(row, flush=True)


if __name__ == "__main__":
    main()
