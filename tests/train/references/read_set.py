"""Reads a set of safetensors files as transformers and as safetensors do, and compares it with one.

    python3 read_set.py FOLDER FILE

FOLDER has files and model.safetensors.index.json, FILE the same tensors.
"""

import json
import os
import sys

import torch
from safetensors.torch import load_file
from transformers.trainer_utils import load_sharded_checkpoint

folder, file = sys.argv[1:]
expected = load_file(file)

# By safetensors, file by file.
with open(os.path.join(folder, "model.safetensors.index.json"), encoding="utf-8") as text:
    places = json.load(text)["weight_map"]
read = {}
for name in sorted(set(places.values())):
    for tensor, value in load_file(os.path.join(folder, name)).items():
        assert places[tensor] == name, tensor
        read[tensor] = value

# By transformers, into a module that has such tensors.
model = torch.nn.Module()
for name, value in expected.items():
    *path, last = name.split(".")
    owner = model
    for part in path:
        if not hasattr(owner, part):
            owner.add_module(part, torch.nn.Module())
        owner = getattr(owner, part)
    owner.register_buffer(last, torch.zeros_like(value))
load_sharded_checkpoint(model, folder, strict=True)

for source in (read, model.state_dict()):
    assert source.keys() == expected.keys()
    for name, value in expected.items():
        assert source[name].dtype == value.dtype and torch.equal(source[name], value), name
print(len(expected), "tensors are the same")
