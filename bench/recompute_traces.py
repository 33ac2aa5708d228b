#!/usr/bin/env python3
"""How good plans of recompute are on steps that no model of this repository makes: eight kinds of
nets as op traces (docs/traces.md), planned at shares of their memory by plan_trace, checked by
check_trace, with the total time beside the bound that no plan is below.

    bench/recompute_traces.py build/bin [--seconds 10] [--only KIND] [--beside OTHER/bin]

Prints a row for each kind and share: total over bound, both in parts of the step that keeps all;
with --beside also of another build. The traces are made from fixed seeds: each run has the same."""
import argparse
import pathlib
import random
import re
import subprocess
import tempfile


class Net:
    """Forward ops as they are called; step() adds the backward pass and the updates."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.size, self.ops, self.weights = {}, [], []

    def value(self, size):
        name = f"v{len(self.size)}"
        self.size[name] = max(64, int(size))
        return name

    def op(self, kind, inputs, size, cost, saves="inputs", weight=False):
        out = self.value(size)
        w = None
        if weight:
            w = f"w{len(self.weights)}"
            self.weights.append(w)
        self.ops.append((kind, list(inputs), out, cost * self.random.uniform(0.9, 1.1), saves, w))
        return out

    def conv(self, x, size, cost):
        return self.op("conv", [x], size, cost, "inputs", True)

    def relu(self, x):
        return self.op("relu", [x], self.size[x], self.size[x] * 2e-10, "output")

    def norm(self, x):
        return self.op("norm", [x], self.size[x], self.size[x] * 4e-10, "inputs", True)

    def add(self, *xs):
        return self.op("add", xs, self.size[xs[0]], self.size[xs[0]] * 2e-10, "nothing")

    def step(self, loss):
        lines = [f"input {w} 4096" for w in self.weights] + ["input x 65536"]
        for kind, inputs, out, cost, _, w in self.ops:
            reads = " ".join(inputs + ([w] if w else [])) or "x"
            lines.append(f"op {kind} {cost:.9f} reads {reads} writes {out}:{self.size[out]}")
        gradient = {}
        for kind, inputs, out, cost, saves, w in reversed(self.ops):
            d = gradient.get(out)
            if out == loss:
                d = "dloss"
                lines.append(f"op ones 0.000001 reads {out} writes {d}:{self.size[out]}")
            if d is None:
                continue
            kept = {"inputs": inputs, "output": [out], "nothing": []}[saves]
            if w:
                lines.append(f"op {kind}_weight {cost:.9f} reads {' '.join([d] + kept)} "
                             f"writes g{w}:4096")
                lines.append(f"op sgd 0.000001 reads g{w} {w} changes {w}")
            for i, x in enumerate(dict.fromkeys(inputs)):
                reads = " ".join(dict.fromkeys([d] + kept))
                part = f"d{out}_{i}"
                lines.append(f"op {kind}_input {cost:.9f} reads {reads} "
                             f"writes {part}:{self.size[x]}")
                if x in gradient:
                    both = f"{part}s"
                    lines.append(f"op sum {self.size[x] * 2e-10:.9f} reads {gradient[x]} {part} "
                                 f"writes {both}:{self.size[x]} over {gradient[x]}")
                    part = both
                gradient[x] = part
        return "\n".join(lines) + "\n"


def residual():
    net, size = Net(1), 8 << 20
    x = net.op("conv", [], size, 2e-3, "nothing")
    for block in range(24):
        if block in (8, 16):
            size //= 2
        y = net.relu(net.norm(net.conv(x, size, 2e-3)))
        y = net.norm(net.conv(y, size, 2e-3))
        short = x if net.size[x] == size else net.conv(x, size, 4e-4)
        x = net.relu(net.add(y, short))
    return net.step(net.op("loss", [x], 64, 1e-4))


def u_shaped():
    net = Net(2)
    x, kept = net.op("conv", [], 16 << 20, 2e-3, "nothing"), []
    for level in range(4):
        for _ in range(3):
            x = net.relu(net.norm(net.conv(x, (16 << 20) >> level, 2e-3)))
        kept.append(x)
        x = net.op("pool", [x], net.size[x] // 2, 2e-4)
    for level in reversed(range(4)):
        x = net.op("up", [x], 2 * net.size[x], 2e-4, "nothing")
        x = net.op("concat", [x, kept[level]], 2 * net.size[kept[level]], 3e-4, "nothing")
        for _ in range(3):
            x = net.relu(net.norm(net.conv(x, (16 << 20) >> level, 2e-3)))
    return net.step(net.op("loss", [x], 64, 1e-4))


def dense():
    net = Net(3)
    x = net.op("conv", [], 4 << 20, 1e-3, "nothing")
    for _ in range(3):
        parts = [x]
        for _ in range(10):
            total = sum(net.size[p] for p in parts)
            y = net.op("concat", parts, total, total * 2e-10, "nothing")
            y = net.relu(net.norm(y))
            parts.append(net.conv(y, 1 << 20, 8e-4))
        x = net.op("concat", parts, sum(net.size[p] for p in parts), 1e-3, "nothing")
        x = net.op("pool", [net.conv(x, 4 << 20, 1e-3)], 4 << 20, 3e-4)
    return net.step(net.op("loss", [x], 64, 1e-4))


def inception():
    net, size = Net(4), 6 << 20
    x = net.op("conv", [], size, 2e-3, "nothing")
    for _ in range(9):
        ways = []
        for depth in (1, 2, 3, 1):
            y = x
            for _ in range(depth):
                y = net.relu(net.norm(net.conv(y, size // 4 * net.random.choice((1, 1, 2)), 7e-4)))
            ways.append(y)
        x = net.op("concat", ways, sum(net.size[w] for w in ways), 5e-4, "nothing")
    return net.step(net.op("loss", [x], 64, 1e-4))


def transformer():
    net, size = Net(5), 4 << 20
    x = net.op("embed", [], size, 3e-4, "nothing", True)
    for _ in range(16):
        y = net.norm(x)
        q, k, v = (net.conv(y, size, 1e-3) for _ in range(3))
        y = net.op("attention", [q, k, v], size, 2e-3)
        x = net.add(x, net.conv(y, size, 1e-3))
        y = net.op("gelu", [net.conv(net.norm(x), 4 * size, 4e-3)], 4 * size, 2e-3)
        x = net.add(x, net.conv(y, size, 4e-3))
    return net.step(net.op("loss", [net.norm(x)], 64, 4e-3))


def lstm():
    net, size = Net(6), 1 << 20
    h = c = net.op("start", [], size, 1e-5, "nothing")
    for _ in range(80):
        gates = net.op("linear", [h], 4 * size, 6e-4, "inputs", True)
        i, f, g, o = (net.op("gate", [gates], size, 1e-4, "output") for _ in range(4))
        c = net.add(net.op("mul", [f, c], size, 1e-4), net.op("mul", [i, g], size, 1e-4))
        h = net.op("mul", [o, net.op("tanh", [c], size, 1e-4, "output")], size, 1e-4)
    return net.step(net.op("loss", [h], 64, 1e-4))


def unrolled():
    net, size = Net(7), 2 << 20
    w = net.op("start", [], size, 1e-5, "nothing")
    noise = net.op("noise", [], size, 1e-5, "nothing")
    for _ in range(12):
        x = noise
        for _ in range(4):
            x = net.relu(net.op("product", [x, w], size, 8e-4))
        g = net.op("grad", [x, w], size, 2e-3)
        w = net.op("move", [w, g], size, 2e-4)
    return net.step(net.op("loss", [w], 64, 1e-4))


def tree():
    net, size = Net(8), 1 << 20
    nodes = [net.op("leaf", [], size, 2e-4, "nothing") for _ in range(64)]
    while len(nodes) > 1:
        left, right = nodes.pop(0), nodes.pop(0)
        gates = net.op("linear", [left, right], 5 * size, 1e-3, "inputs", True)
        i, f, o = (net.op("gate", [gates], size, 1e-4, "output") for _ in range(3))
        cell = net.add(net.op("mul", [i, left], size, 1e-4), net.op("mul", [f, right], size, 1e-4))
        nodes.append(net.op("mul", [o, cell], size, 1e-4))
    return net.step(net.op("loss", nodes, 64, 1e-4))


KINDS = {f.__name__: f for f in (residual, u_shaped, dense, inception, transformer, lstm, unrolled,
                                 tree)}


def plan(folder, trace, share, seconds):
    """Total time and bound in parts of the step, seconds of the search; nothing: no plan."""
    output = trace.with_suffix(".plan")
    said = subprocess.run([f"{folder}/plan_trace", "--input", trace, "--budget-ratio", str(share),
                           "--seconds", str(seconds), "--output", output],
                          capture_output=True, text=True)
    if said.returncode == 1:
        return None
    assert said.returncode == 0, said.stderr
    subprocess.run([f"{folder}/check_trace", "--input", trace, "--plan", output, "--budget-ratio",
                    str(share)], check=True, capture_output=True)
    added, step, bound = (float(x) for x in re.search(
        r"added time (\S+) s to (\S+) s; no plan adds less than (\S+) s", said.stdout).groups())
    return 1 + added / step, 1 + bound / step, float(re.search(r"(\S+) s$", said.stdout.strip())[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", help="build/bin")
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--only", default="")
    parser.add_argument("--beside", help="the same of another build")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for kind, make in KINDS.items():
            if not kind.startswith(options.only):
                continue
            trace = pathlib.Path(folder, f"{kind}.trace")
            trace.write_text(make())
            for share in (0.7, 0.5, 0.3, 0.2):
                row = f"{kind:12} {share:.1f}"
                for build in filter(None, (options.beside, options.folder)):
                    found = plan(build, trace, share, options.seconds)
                    row += "   no plan" if found is None else \
                        f"   {found[0]:.3f} of {found[1]:.3f} in {found[2]:.1f} s"
                print(row, flush=True)


if __name__ == "__main__":
    main()
