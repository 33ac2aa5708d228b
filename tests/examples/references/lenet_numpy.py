"""The classes that a lenet sees in a picture, computed from its exported weights by numpy alone:

    lenet_numpy.py WEIGHTS MEAN STDDEV PICTURE.png

prints the probabilities. The picture is an 8-bit grey PNG, undone by zlib, filters 0 to 4."""
import json
import struct
import sys
import zlib

import numpy as np


def read_safetensors(name):
    with open(name, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = file.read()
    header.pop("__metadata__", None)
    return {name: np.frombuffer(data[slice(*entry["data_offsets"])], "<f4").reshape(entry["shape"])
            for name, entry in header.items()}


def read_png(name):
    with open(name, "rb") as file:
        data = file.read()
    at, packed = 8, b""
    while at < len(data):
        (length,) = struct.unpack(">I", data[at:at + 4])
        kind, content = data[at + 4:at + 8], data[at + 8:at + 8 + length]
        if kind == b"IHDR":
            width, height, bits, color = struct.unpack(">IIBB", content[:10])
            assert (bits, color) == (8, 0)
        if kind == b"IDAT":
            packed += content
        at += 12 + length
    raw, rows = zlib.decompress(packed), np.zeros((height + 1, width + 1), int)
    for y in range(height):
        line = raw[y * (width + 1):(y + 1) * (width + 1)]
        for x in range(width):
            left, up, corner = rows[y + 1, x], rows[y, x + 1], rows[y, x]
            p = left + up - corner
            paeth = min((left, up, corner), key=lambda value: abs(p - value))
            guess = (0, left, up, (left + up) // 2, paeth)[line[0]]
            rows[y + 1, x + 1] = (line[x + 1] + guess) % 256
    return rows[1:, 1:]


def conv(x, weight, bias):  # [C, H, W], same size
    pad = weight.shape[2] // 2
    x = np.pad(x, ((0, 0), (pad, pad), (pad, pad)))
    windows = np.lib.stride_tricks.sliding_window_view(x, weight.shape[2:], axis=(1, 2))
    return np.einsum("chwij,ocij->ohw", windows, weight) + bias[:, None, None]


def pool(x):
    channels, height, width = x.shape
    return x.reshape(channels, height // 2, 2, width // 2, 2).max((2, 4))


def main(weights, mean, stddev, picture):
    w = {name: tensor.astype(np.float64) for name, tensor in read_safetensors(weights).items()}
    x = ((read_png(picture) / 255 - float(mean)) / float(stddev))[None]
    for layer in "conv1", "conv2":
        x = pool(np.maximum(conv(x, w[f"{layer}.0.weight"], w[f"{layer}.0.bias"]), 0))
    x = np.maximum(w["dense.1.weight"] @ x.reshape(-1) + w["dense.1.bias"], 0)
    x = w["dense.3.weight"] @ x + w["dense.3.bias"]
    p = np.exp(x - x.max())
    print(*(p / p.sum()))


main(*sys.argv[1:])
