"""What becomes of a parameter under optimizers with 8-bit state, on a CPU.

    eight_bit.py FOLDER

FOLDER/ours.npz has the parameter p and one gradient for each step, g0, g1, ... Writes theirs.npz:
NAME.p and NAME.codes, NAME.scales, for adamw NAME.second_codes and NAME.second_scales too, where
NAME is adamw or sgd for bitsandbytes itself, and exact_adamw or exact_sgd for the same formulas on
its code tables, each number coded as the nearest (which its table of 65,536 places is not quite),
but nothing above 0 as 0.
"""
import os
import sys

import bitsandbytes
import numpy
import torch
from bitsandbytes import functional

F = numpy.float32
LR, BETA1, BETA2, EPS, DECAY, MOMENTUM = F(1e-2), F(0.9), F(0.99), F(1e-8), F(0.1), F(0.9)
BLOCK = 256


class Exact:
    """A state of zeros in blocks, coded by `table`."""

    def __init__(self, n, table):
        self.table, self.middles = table, (table[:-1] + table[1:]) / F(2)
        self.codes = numpy.zeros(n, numpy.uint8)
        self.scales = numpy.zeros((n + BLOCK - 1) // BLOCK, F)

    def get(self):
        return self.table[self.codes] * numpy.repeat(self.scales, BLOCK)[:len(self.codes)]

    def set(self, x):
        padded = numpy.zeros(len(self.scales) * BLOCK, F)
        padded[:len(x)] = x
        self.scales = numpy.abs(padded.reshape(-1, BLOCK)).max(1)
        factor = F(1) / numpy.maximum(self.scales, F(1e-38))
        scaled = x * numpy.repeat(factor, BLOCK)[:len(x)]
        codes = numpy.searchsorted(self.middles, scaled, "left")
        if self.table[0] == 0:  # what is not 0 does not become 0
            codes = numpy.maximum(codes, scaled > 0)
        self.codes = codes.astype(numpy.uint8)


def exact_adamw(p, gradients, signed, unsigned):
    m, v = Exact(len(p), signed), Exact(len(p), unsigned)
    for t, g in enumerate(gradients, 1):
        m_new = BETA1 * m.get() + (F(1) - BETA1) * g
        v_new = BETA2 * v.get() + (F(1) - BETA2) * g * g
        unbias = F(numpy.sqrt(1 - float(BETA2) ** t))
        rate = F(float(LR) / (1 - float(BETA1) ** t))
        p = p * (F(1) - LR * DECAY) - rate * m_new / (numpy.sqrt(v_new) / unbias + EPS)
        m.set(m_new)
        v.set(v_new)
    return {"p": p, "codes": m.codes, "scales": m.scales, "second_codes": v.codes,
            "second_scales": v.scales}


def exact_sgd(p, gradients, signed):
    velocity = Exact(len(p), signed)
    for t, g in enumerate(gradients, 1):
        g = g + DECAY * p
        new = g if t == 1 else MOMENTUM * velocity.get() + g
        p = p - LR * new
        velocity.set(new)
    return {"p": p, "codes": velocity.codes, "scales": velocity.scales}


def theirs(optimizer, p, gradients):
    for g in gradients:
        p.grad = torch.from_numpy(g)
        optimizer.step()
    state = optimizer.state[p]
    result = {"p": p.detach(), "codes": state["state1"], "scales": state["absmax1"]}
    if "absmax2" in state:
        result |= {"second_codes": state["state2"], "second_scales": state["absmax2"]}
    return {key: value.numpy() for key, value in result.items()}


def main():
    folder = sys.argv[1]
    with numpy.load(os.path.join(folder, "ours.npz"), allow_pickle=False) as ours:
        start = ours["p"]
        gradients = [ours[f"g{i}"] for i in range(len(ours.files) - 1)]
    signed, unsigned = (functional.create_dynamic_map(signed=s).numpy() for s in (True, False))
    parameter = lambda: torch.nn.Parameter(torch.from_numpy(start.copy()))
    p, q = parameter(), parameter()
    adamw = bitsandbytes.optim.AdamW8bit([p], lr=float(LR), betas=(float(BETA1), float(BETA2)),
                                         eps=float(EPS), weight_decay=float(DECAY))
    sgd = bitsandbytes.optim.SGD8bit([q], lr=float(LR), momentum=float(MOMENTUM),
                                     weight_decay=float(DECAY))
    results = {"adamw": theirs(adamw, p, gradients), "sgd": theirs(sgd, q, gradients),
               "exact_adamw": exact_adamw(start, gradients, signed, unsigned),
               "exact_sgd": exact_sgd(start, gradients, signed)}
    numpy.savez(os.path.join(folder, "theirs.npz"),
                **{f"{name}.{key}": value for name, result in results.items()
                   for key, value in result.items()})


main()
