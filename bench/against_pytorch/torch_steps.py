"""Whole training steps of the example models in PyTorch: the other side of the comparison.

    torch_steps.py --model gpt --read F [--threads 2] [--channels-last] [--compile [MODE]]
                   [--device cuda] [--precision bf16] [--ranks 2 --rank 0 --meet FILE [--shard]]

Reads the folder that train_steps wrote, then answers each number n on a line of stdin with one line
of JSON, as train_steps does. Filters lie as [out, kh, kw, in] in the folder, and images as NHWC. On
a GPU steps are timed by its own events, and nothing waits for them before all n are made; memory is
what the allocator had given out at most. With --ranks so many of them, which meet by a file that is
not there before, train a batch each (DistributedDataParallel over gloo; with --shard FSDP2, which
gathers a block's parameters where they are needed); rank 0 is asked and answers.
"""
import argparse
import json
import pathlib
import sys
import time

import numpy as np
import torch
import torch.distributed
import torch.distributed.fsdp
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
        elements = np.fromfile(self.path / name, entry["dtype"])
        return torch.from_numpy(elements.reshape(entry["shape"]))

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


class Residual(nn.Module):  # of torchvision: convolutions without bias, each with a norm
    def __init__(self, f, name, stride):
        super().__init__()
        names = [f"{name}.conv{i}" for i in (1, 2, 3) if f"{name}.conv{i}.weight" in f.index]
        kernels = [f.index[conv + ".weight"]["shape"][1] for conv in names]
        self.convs = nn.ModuleList(
            conv(f, n, stride=stride if i == kernels.index(3) else 1, padding=kernels[i] // 2)
            for i, n in enumerate(names))
        self.norms = nn.ModuleList(batch_norm(f, n.replace("conv", "bn")) for n in names)
        self.downsample = None
        if name + ".downsample.0.weight" in f.index:
            self.downsample = nn.Sequential(conv(f, name + ".downsample.0", stride=stride),
                                            batch_norm(f, name + ".downsample.1"))

    def forward(self, x):
        h = x
        for conv, norm in zip(self.convs, self.norms):
            h = norm(conv(h if conv is self.convs[0] else F.relu(h)))
        return F.relu(h + (x if self.downsample is None else self.downsample(x)))


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


def resnet(f, *stem):
    blocks = []
    for layer in range(1, 5):
        block = 0
        while f"layer{layer}_{block}.conv1.weight" in f.index:
            stride = 2 if layer > 1 and block == 0 else 1
            blocks.append(Residual(f, f"layer{layer}_{block}", stride))
            block += 1
    return nn.Sequential(*stem, *blocks, Mean((2, 3)), linear(f, "head.1"))


def resnet50(f):
    return resnet(f, conv(f, "stem.0", stride=2, padding=3), batch_norm(f, "stem.1"), nn.ReLU(),
                  nn.MaxPool2d(3, 2, 1))


def resnet18_cifar(f):
    return resnet(f, conv(f, "stem.0", padding=1), batch_norm(f, "stem.1"), nn.ReLU())


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
    def __init__(self, f, heads=8, activation=F.gelu):
        super().__init__()
        self.tokens = nn.Parameter(f["input.0.weight"])
        self.positions = nn.Parameter(f["input.1.table"])
        layers = sum(name.endswith(".attention.qkv.weight") for name in f.index)
        self.blocks = nn.Sequential(*(Block(f, f"block{i}", heads, True, True, activation, 0)
                                      for i in range(layers)))
        self.norm = layer_norm(f, "head.norm")

    def forward(self, x):
        h = F.embedding(x, self.tokens) + self.positions[: x.shape[1]]
        return F.linear(self.norm(self.blocks(h)), self.tokens)


def gpt2(f):
    return Gpt(f, 12, lambda x: F.gelu(x, approximate="tanh"))


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


MODELS = {"lenet": lenet, "resnet8": resnet8, "vgg": vgg, "gpt": Gpt, "textcls": TextClassifier,
          "gpt2-124M": gpt2, "resnet50": resnet50, "resnet18-cifar": resnet18_cifar}
TEXT = ("gpt", "gpt2-124M", "textcls")


def shared_out(model):
    """FSDP2 as its guides have it: each block by itself, then what is left."""
    mesh = torch.distributed.init_device_mesh("cpu", (torch.distributed.get_world_size(),))
    for block in getattr(model, "blocks", model):
        if next(block.parameters(), None) is not None:
            torch.distributed.fsdp.fully_shard(block, mesh=mesh)
    return torch.distributed.fsdp.fully_shard(model, mesh=mesh)


def timed_on_gpu(n, step):
    """Milliseconds and losses of n steps, by the GPU's clock."""
    events = [torch.cuda.Event(enable_timing=True) for _ in range(n + 1)]
    losses = []
    events[0].record()
    for event in events[1:]:
        losses.append(step().detach().clone())  # a CUDA graph writes the next one over it
        event.record()
    torch.cuda.synchronize()
    return [a.elapsed_time(b) for a, b in zip(events, events[1:])], [x.item() for x in losses]


def timed_here(n, step):
    ms, losses = [], []
    for _ in range(n):
        start = time.perf_counter()
        losses.append(step().item())
        ms.append((time.perf_counter() - start) * 1e3)
    return ms, losses


def asked(options):
    """How many steps are asked for, again and again: of all ranks by the first; 0 ends them."""
    while True:
        n = torch.tensor(int(sys.stdin.readline() or 0) if options.rank == 0 else 0)
        if options.ranks > 1:
            torch.distributed.broadcast(n, 0)
        if n == 0:
            return
        yield n.item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=MODELS, required=True)
    parser.add_argument("--read", required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", choices=("f32", "bf16", "f16"), default="f32")
    parser.add_argument("--channels-last", action="store_true")
    parser.add_argument("--compile", nargs="?", const="default", help="a mode of torch.compile")
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--rank", type=int, default=0)
    parser.add_argument("--meet")
    parser.add_argument("--shard", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.backends.cudnn.benchmark = True
    device, on_gpu = torch.device(options.device), options.device.startswith("cuda")

    start_kib = 0 if on_gpu else peak_kib()
    folder = Folder(options.read)
    model = MODELS[options.model](folder).to(device)
    text = options.model in TEXT
    batches = []
    for i in range(BATCHES):
        x = folder[f"x{i}"]
        if not text:
            x = x.permute(0, 3, 1, 2)
            x = x.contiguous(memory_format=torch.channels_last) if options.channels_last \
                else x.contiguous()
        batches.append((x.to(device), folder[f"y{i}"].to(device)))
    if options.channels_last:
        model = model.to(memory_format=torch.channels_last)
    if options.ranks > 1:
        torch.distributed.init_process_group("gloo", init_method=f"file://{options.meet}",
                                             rank=options.rank, world_size=options.ranks)
        model = shared_out(model) if options.shard else \
            nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True)
    parameters = list(model.parameters())
    optimizer = torch.optim.AdamW(parameters, 1e-3, weight_decay=0.1, fused=True) if text \
        else torch.optim.Adam(parameters, 1e-3, fused=True)
    half = {"bf16": torch.bfloat16, "f16": torch.float16}.get(options.precision)
    scaler = torch.amp.GradScaler(device.type, enabled=options.precision == "f16")

    def forward(x, y):
        with torch.autocast(device.type, half, enabled=half is not None):
            logits = model(x)
            return F.cross_entropy(logits.flatten(0, -2), y.flatten())

    if options.compile:
        forward = torch.compile(forward, mode=options.compile)
    made = 0

    def step():
        nonlocal made
        loss = forward(*batches[(made * options.ranks + options.rank) % BATCHES])
        scaler.scale(loss).backward()
        if text:
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(parameters, 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
        made += 1
        return loss

    for n in asked(options):
        ms, losses = (timed_on_gpu if on_gpu else timed_here)(n, step)
        if options.rank > 0:
            continue
        peak = torch.cuda.max_memory_allocated() // 1024 if on_gpu else peak_kib()
        print(json.dumps({"ms": ms, "loss": losses, "peak_kib": peak, "start_kib": start_kib}),
              flush=True)


main()
