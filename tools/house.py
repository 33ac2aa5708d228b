#!/usr/bin/env python3
"""How much house there is: prints tables that can be compared before and after a change.

    python3 tools/house.py [FOLDER]      # of a git checkout; default: the one this file lies in

Only what git tracks is counted. Source is .h .cpp .cu .cuh outside tests/, bench/ and docs/ that is
not *_test.cpp; tests are the rest of these files but bench/. Comments and blank lines are counted.

room          a folder; below core/ and memory/ one deeper, and below ops/ for families of several
              ops. A test in tests/ROOM counts there, one beside its source too.
way of a step the files that define what a reader asks for between examples/first_step.cpp and the
              kernel of conv2d on a CPU, the update and the plan, as WAY lists it; definitions are
              searched in column 0. Names that are not found are said to be missing, and the exit
              status is 1: what has replaced them belongs into WAY.
"""
import collections
import os
import pathlib
import re
import subprocess
import sys

MOST_FILES = 30
SUFFIXES = (".h", ".cpp", ".cu", ".cuh")

# What a reader asks for, in order: the folder that holds it, and its name. Capitals begin a type.
WAY = [
    ("nn", "Module"), ("nn", "Sequential"), ("nn", "Conv2d"), ("nn", "Conv2d::forward"),
    ("ops", "Conv2dAttrs"), ("ops", "conv2d"), ("ops", "conv2d_cpu"), ("ops", "ConvSizes"),
    ("ops", "DenseConv"), ("ops", "dense_cpu"), ("ops", "Panels"), ("core", "parallel_for"),
    ("core", "Tensor"), ("core", "Tensor::item"), ("core", "Value"), ("core", "View"),
    ("core", "Storage"), ("core", "Meta"), ("core", "Shape"), ("core", "Attrs"), ("core", "Node"),
    ("core", "Call"), ("core", "OpDef"), ("core", "apply"),
    ("ops", "cross_entropy"), ("autograd", "gradients"), ("core", "Backward"),
    ("optim", "Optimizer"), ("optim", "Optimizer::update"), ("optim", "Adam"),
    ("ops", "adam_update"),
    ("memory", "Step"), ("memory", "Step::plan"), ("memory", "capture_live"), ("core", "capture"),
    ("core", "Trace"), ("core", "Trace::append"), ("core", "Program"),
    ("memory", "remove_dead"), ("memory", "fuse_relu"), ("memory", "relu_late"),
    ("memory", "widen_late"), ("memory", "plan_step"), ("memory", "update_early"),
    ("memory", "Plan"), ("memory", "make_plan"), ("memory", "Lifetime"), ("memory", "lifetimes"),
    ("memory", "fold_in_place"), ("memory", "Box"), ("memory", "place"), ("memory", "place_within"),
    ("memory", "OffsetSearch"), ("memory", "Replay"), ("memory", "Replay::run"),
]


class House:
    def __init__(self, root):
        self.root = root
        listed = subprocess.run(["git", "-C", root, "ls-files", "-z"], check=True,
                                capture_output=True, text=True)
        names = listed.stdout.split("\0")
        self.all = [n for n in names if n and (root / n).is_file()]
        self.text = {n: (root / n).read_text(errors="replace") for n in self.all
                     if n.endswith(SUFFIXES)}
        self.source = [n for n in self.text if not n.startswith(("tests/", "bench/", "docs/"))
                       and not n.endswith("_test.cpp")]
        self.tests = [n for n in self.text
                      if n not in set(self.source) and not n.startswith(("bench/", "docs/"))]

    def lines(self, name):
        return self.text[name].count("\n")

    def rooms(self):
        deep = {n.split("/")[1] for n in self.source if n.startswith("ops/") and n.count("/") > 2}
        rooms = {}

        def room(name):
            parts = name.split("/")[:-1]
            if len(parts) > 1 and (parts[0] in ("core", "memory") or
                                   parts[0] == "ops" and parts[1] in deep):
                return "/".join(parts[:2])
            return parts[0] if parts else "."

        for name in self.source:
            count = rooms.setdefault(room(name), [0, 0, 0])
            count[0] += 1
            count[1] += self.lines(name)
        for name in self.tests:
            mirrored = room(name.removeprefix("tests/"))
            place = mirrored if mirrored in rooms else room(name)
            rooms.setdefault(place, [0, 0, 0])[2] += self.lines(name)
        return rooms

    def way(self):
        """The files of WAY in its order, each with the names it defines, and the names missing."""
        files, missing = {}, []
        for folder, name in WAY:
            if name.split("::")[-1][0].isupper():
                definition = rf"^(?:class|struct) {name}\b[^;]*?\{{"
            else:
                definition = rf"^[A-Za-z][^=;(){{}}\n]*[\s&*](?:detail::)?{name}\([^;]*?\{{"
            holders = [n for n in self.source if n.startswith(folder + "/") and "/cuda/" not in n
                       and re.search(definition, self.text[n], flags=re.M)]
            for holder in holders:
                files.setdefault(holder, []).append(name)
            if not holders:
                missing.append(name)
        return files, missing


def table(title, heads, rows):
    rows = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[k]) for row in [heads] + rows) for k in range(len(heads))]
    print(f"\n{title}")
    for row in [heads] + rows:
        cells = [cell.rjust(w) if cell.replace(".", "").isdigit() else cell.ljust(w)
                 for cell, w in zip(row, widths)]
        print(("  " + "  ".join(cells)).rstrip())


def main():
    given = sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent
    house = House(pathlib.Path(given).resolve())

    rooms = sorted(house.rooms().items())
    total = [sum(counts[k] for _, counts in rooms) for k in range(3)]
    table("Lines per room", ["room", "files", "source", "tests"],
          [[name, *counts] for name, counts in rooms + [("all", total)]])

    folders = collections.Counter(str(pathlib.PurePosixPath(n).parent) for n in house.all)
    large = [row for row in folders.most_common() if row[1] > MOST_FILES]
    table(f"Folders with more than {MOST_FILES} files, of {len(folders)}", ["folder", "files"],
          large)

    way, missing = house.way()
    start = next((n for n in house.source if n.endswith("/first_step.cpp")), None)
    files = ({start: ["main"]} if start else {}) | way
    lines = sum(house.lines(n) for n in files)
    table(f"The way of a step: {len(files)} files, {lines} lines", ["file", "lines", "for"],
          [[name, house.lines(name), " ".join(names)] for name, names in files.items()])
    print(f"  missing here: {' '.join(missing) if missing else 'nothing'}")
    return 1 if missing else 0


if __name__ == "__main__":
    try:
        status = main()
        sys.stdout.flush()
        sys.exit(status)
    except BrokenPipeError:  # as of `house.py | head`: the exit would flush, and fail, once more
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
