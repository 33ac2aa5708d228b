"""Writes what the saves of a folder say, in one order, whoever wrote them: one process a file,
ranks a set of files with an index. Two runs that say the same have the same bytes:

    cmp <(python3 saved_bytes.py one/saves) <(python3 saved_bytes.py four/saves)

It is written from the format's text and shares no code with the engine's reader.
"""

import json
import os
import struct
import sys

INDEX = "model.safetensors.index.json"


def files_of(save):
    if os.path.isfile(save):
        return [save]
    with open(os.path.join(save, INDEX), encoding="utf-8") as text:
        names = set(json.load(text)["weight_map"].values())
    return [os.path.join(save, name) for name in sorted(names)]


def tensors_of(file):
    with open(file, "rb") as opened:
        (length,) = struct.unpack("<Q", opened.read(8))
        header = json.loads(opened.read(length))
        elements = opened.read()
    metadata = header.pop("__metadata__")
    del metadata["crc32"]  # of the file
    return metadata, {
        name: f"{name} {entry['dtype']} {entry['shape']}\n".encode()
        + elements[slice(*entry["data_offsets"])]
        for name, entry in header.items()
    }


folder = sys.argv[1]
for name in sorted(os.listdir(folder)):
    save = os.path.join(folder, name)
    if not name.endswith(".safetensors") and not os.path.exists(os.path.join(save, INDEX)):
        continue  # no save
    tensors = {}
    for file in files_of(save):
        metadata, more = tensors_of(file)
        tensors.update(more)
    head = f"{name.removesuffix('.safetensors')} {sorted(metadata.items())}\n"
    sys.stdout.buffer.write(head.encode())
    for _, tensor in sorted(tensors.items()):
        sys.stdout.buffer.write(tensor)
