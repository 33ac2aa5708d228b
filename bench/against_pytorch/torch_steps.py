"""Whole training steps of the example models in PyTorch: the other side of the comparison.

    torch_steps.py --model gpt --read F [--threads 2] [--channels-last] [--compile]

Reads the folder that train_steps wrote, then answers each number n on a line of stdin with one line
of JSON, as train_steps does. Filters lie as [out, kh, kw, in] in the folder, and images as NHWC.
"""
import argparse
import json
import pathlib
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

BATCHES = 4


def peak_kib():
    for line in open("/proc/self/status"):
        if line.startswith("VmHWM:"):
            return int(line.split()[1])


class Folder:
    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.index = json.loads((self.path / "index.json").read_text())

    def __getitem__(self, name):
        entry = self.index[name]
        return torch.from_numpy(np.fromfile(self.path / name, entry["dtype"]).reshape(entry["shape"]))

    def conv(self, name):  # [out, kh, kw, in] -> [out, in, kh, kw]
        return self[name].permute(0, 3, 1, 2).contiguous()


def conv(folder, name, **options):
    weight = folder.conv(name + ".weight")
    bias = name + ".bias" in folder.index
    layer = nn.Conv2d(weight.shape[1], weight.shape[0], weight.shape[2], bias=bias, **options)
    layer.weight.data = weight
    if bias:
        layer.bias.data = folder[name + ".bias"]
    return layer


def linear(folder, name):
    weight = folder[name + ".weight"]
    bias = name + ".bias" in folder.index
    layer = nn.Linear(weight.shape[1], weight.shape[0], bias=bias)
    layer.weight.data = weight
    if bias:
        layer.bias.data = folder[name + ".bias"]
    return layer


def affine(folder, name, layer):
    layer.weight.data = folder[name + ".gamma"]
    layer.bias.data = folder[name + ".beta"]
    return layer


def batch_norm(folder, name):
    return affine(folder, name, nn.BatchNorm2d(folder[name + ".gamma"].numel()))


def layer_norm(folder, name):
    return affine(folder, name, nn.LayerNorm(folder[name + ".gamma"].numel()))


class FlattenNHWC(nn.Module):  # the order of the dense weights
    def forward(self, x):
        return x.permute(0, 2, 3, 1).flatten(1)


def lenet(f):
    return nn.Sequential(conv(f, "conv1.0", padding=2), nn.ReLU(), nn.MaxPool2d(2),
                         conv(f, "conv2.0", padding=2), nn.ReLU(), nn.MaxPool2d(2),
                         FlattenNHWC(), linear(f, "dense.1"), nn.ReLU(), linear(f, "dense.3"))


def vgg(f):
    layers = []
    for filters in (64, 128, 256):
        for i in (0, 3):
            layers += [conv(f, f"conv{filters}.{i}", padding=1),
                       batch_norm(f, f"conv{filters}.{i + 1}"), nn.ReLU()]
        layers.append(nn.MaxPool2d(2))
    return nn.Sequential(*layers, FlattenNHWC(), linear(f, "dense.1"), nn.ReLU(),
                         linear(f, "dense.3"))


class ResidualBlock(nn.Module):
    def __init__(self, f, name, stride):
        super().__init__()
        self.conv1 = conv(f, name + ".conv1", stride=stride, padding=1)
        self.norm1 = batch_norm(f, name + ".norm1")
        self.conv2 = conv(f, name + ".conv2", padding=1)
        self.norm2 = batch_norm(f, name + ".norm2")
        has_shortcut = name + ".shortcut.weight" in f.index
        self.shortcut = conv(f, name + ".shortcut", stride=stride) if has_shortcut else None

    def forward(self, x):
        h = F.relu(self.norm1(self.conv1(x)))
        past = x if self.shortcut is None else self.shortcut(x)
        return F.relu(self.norm2(self.conv2(h)) + past)


class Mean(nn.Module):
    def __init__(self, dims):
        super().__init__()
        self.dims = dims

    def forward(self, x):
        return x.mean(self.dims)


def resnet8(f):
    return nn.Sequential(conv(f, "stem.0", padding=1), batch_norm(f, "stem.1"), nn.ReLU(),
                         ResidualBlock(f, "block1", 1), ResidualBlock(f, "block2", 2),
                         ResidualBlock(f, "block3", 2), Mean((2, 3)), linear(f, "head.1"))


class Attention(nn.Module):
    def __init__(self, f, name, heads, causal):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.qkv, self.output = linear(f, name + ".qkv"), linear(f, name + ".output")

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.output(y.transpose(1, 2).reshape(b, t, d))


class Block(nn.Module):
    def __init__(self, f, name, heads, causal, pre_norm, activation, dropout):
        super().__init__()
        self.norm1, self.norm2 = layer_norm(f, name + ".norm1"), layer_norm(f, name + ".norm2")
        self.attention = Attention(f, name + ".attention", heads, causal)
        self.expand, self.contract = linear(f, name + ".expand"), linear(f, name + ".contract")
        self.pre_norm, self.activation, self.dropout = pre_norm, activation, dropout

    def drop(self, x):
        return F.dropout(x, self.dropout) if self.dropout else x

    def feed_forward(self, x):
        return self.drop(self.contract(self.activation(self.expand(x))))

    def forward(self, x):
        if self.pre_norm:
            h = x + self.drop(self.attention(self.norm1(x)))
            return h + self.feed_forward(self.norm2(h))
        h = self.norm1(x + self.drop(self.attention(x)))
        return self.norm2(h + self.feed_forward(h))


class Gpt(nn.Module):
    def __init__(self, f):
        super().__init__()
        self.tokens = nn.Parameter(f["input.0.weight"])
        self.positions = nn.Parameter(f["input.1.table"])
        self.blocks = nn.Sequential(*(Block(f, f"block{i}", 8, True, True, F.gelu, 0)
                                      for i in range(4)))
        self.norm = layer_norm(f, "head.norm")

    def forward(self, x):
        h = F.embedding(x, self.tokens) + self.positions[: x.shape[1]]
        return F.linear(self.norm(self.blocks(h)), self.tokens)


class TextClassifier(nn.Module):
    def __init__(self, f):
        super().__init__()
        self.tokens = nn.Parameter(f["input.0.weight"])
        t, d = torch.arange(128, dtype=torch.float64)[:, None], self.tokens.shape[1]
        angle = t / 10000 ** (torch.arange(0, d, 2, dtype=torch.float64) / d)
        table = torch.stack((angle.sin(), angle.cos()), -1).flatten(1).float()
        self.register_buffer("positions", table)
        self.block = Block(f, "block", 2, False, False, F.relu, 0.1)
        self.head = linear(f, "head.1")

    def forward(self, x):
        return self.head(self.block(F.embedding(x, self.tokens) + self.positions).mean(1))


MODELS = {"lenet": lenet, "resnet8": resnet8, "vgg": vgg, "gpt": Gpt, "textcls": TextClassifier}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=MODELS, required=True)
    parser.add_argument("--read", required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--channels-last", action="store_true")
    parser.add_argument("--compile", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)

    start_kib = peak_kib()
    folder = Folder(options.read)
    model = MODELS[options.model](folder)
    text = options.model in ("gpt", "textcls")
    batches = []
    for i in range(BATCHES):
        x = folder[f"x{i}"]
        if not text:
            x = x.permute(0, 3, 1, 2)
            x = x.contiguous(memory_format=torch.channels_last) if options.channels_last \
                else x.contiguous()
        batches.append((x, folder[f"y{i}"]))
    if options.channels_last:
        model = model.to(memory_format=torch.channels_last)
    parameters = list(model.parameters())
    optimizer = torch.optim.AdamW(parameters, 1e-3, weight_decay=0.1, fused=True) if text \
        else torch.optim.Adam(parameters, 1e-3, fused=True)

    def forward(x, y):
        logits = model(x)
        return F.cross_entropy(logits.flatten(0, -2), y.flatten())

    if options.compile:
        forward = torch.compile(forward)

    done = 0
    for line in sys.stdin:
        ms, losses = [], []
        for _ in range(int(line)):
            start = time.perf_counter()
            x, y = batches[done % BATCHES]
            loss = forward(x, y)
            loss.backward()
            if text:
                nn.utils.clip_grad_norm_(parameters, 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            losses.append(loss.item())
            ms.append((time.perf_counter() - start) * 1e3)
            done += 1
        print(json.dumps({"ms": ms, "loss": losses, "peak_kib": peak_kib(),
                          "start_kib": start_kib}), flush=True)


main()
