"""What torch.optim.Muon makes of matrices.

    muon.py FOLDER

FOLDER/ours.npz has for each case NAME the start NAME.p and gradients NAME.g0, NAME.g1, ... Writes
theirs.npz: NAME.p after all steps, and NAME.u, its orthogonal direction for NAME.g0 alone.
"""
import os
import sys

import numpy
import torch
from torch.optim import _muon

CASES = {"wide": {}, "tall": {}, "plain": {"nesterov": False},
         "like_adamw": {"adjust_lr_fn": "match_rms_adamw"}}


def main():
    folder, results = sys.argv[1], {}
    with numpy.load(os.path.join(folder, "ours.npz"), allow_pickle=False) as ours:
        for name, options in CASES.items():
            p = torch.nn.Parameter(torch.from_numpy(ours[f"{name}.p"]))
            optimizer = torch.optim.Muon([p], lr=0.02, weight_decay=0.1, momentum=0.9, **options)
            steps = sum(key.startswith(f"{name}.g") for key in ours.files)
            for step in range(steps):
                p.grad = torch.from_numpy(ours[f"{name}.g{step}"])
                optimizer.step()
            results[f"{name}.p"] = p.detach().numpy()
            g = torch.from_numpy(ours[f"{name}.g0"])
            u = _muon._zeropower_via_newtonschulz(g, (3.4445, -4.7750, 2.0315), 5, 1e-7)
            results[f"{name}.u"] = u.float().contiguous().numpy()
    numpy.savez(os.path.join(folder, "theirs.npz"), **results)


main()
