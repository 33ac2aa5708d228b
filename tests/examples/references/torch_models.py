"""The models of the examples in PyTorch, as anybody would write them: images are [N, C, H, W].

    torch_models.py MODEL FOLDER

FOLDER/ours.safetensors has the weights of a model of Plimsoll, FOLDER/ours_run.safetensors an input
x and the logits it gave. They are loaded with strict=True, and the logits here have to be the same
to 1e-5. Then a fresh model writes theirs.safetensors and theirs_run.safetensors, for the way back.
Published models are those of torchvision and transformers.
The safetensors package reads and writes where it is there, else safetensors_file.py.
"""
import os
import sys

import torch
from torch import nn
from torch.nn import functional

import safetensors_file

TOLERANCE = 1e-5  # of max|a - b| / max|b|


def lenet():
    """x [N, 1, 28, 28]"""
    model = nn.Module()
    model.conv1 = nn.Sequential(nn.Conv2d(1, 32, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2))
    model.conv2 = nn.Sequential(nn.Conv2d(32, 64, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2))
    model.dense = nn.Sequential(nn.Flatten(), nn.Linear(7 * 7 * 64, 1024), nn.ReLU(),
                                nn.Linear(1024, 10))
    model.forward = lambda x: model.dense(model.conv2(model.conv1(x)))
    return model


class Residual(nn.Module):
    def __init__(self, channels_in, channels_out, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(channels_in, channels_out, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(channels_out)
        self.conv2 = nn.Conv2d(channels_out, channels_out, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(channels_out)
        if stride != 1 or channels_in != channels_out:
            self.shortcut = nn.Conv2d(channels_in, channels_out, 1, stride)

    def forward(self, x):
        h = functional.relu(self.norm1(self.conv1(x)))
        past = self.shortcut(x) if hasattr(self, "shortcut") else x
        return functional.relu(self.norm2(self.conv2(h)) + past)


def resnet8():
    """x [N, 3, 32, 32]"""
    model = nn.Module()
    model.stem = nn.Sequential(nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU())
    model.block1 = Residual(16, 16, 1)
    model.block2 = Residual(16, 32, 2)
    model.block3 = Residual(32, 64, 2)
    model.head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Linear(64, 10))

    def forward(x):
        x = model.block3(model.block2(model.block1(model.stem(x))))
        return model.head[1](model.head[0](x).flatten(1))
    model.forward = forward
    return model


class Block(nn.Module):
    """Pre-norm, without biases; torch's encoder layer has none in its norms either then."""

    def __init__(self, width, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.self_attn = nn.MultiheadAttention(width, heads, bias=False, batch_first=True)
        self.norm2 = nn.LayerNorm(width)
        self.linear1 = nn.Linear(width, 4 * width, bias=False)
        self.linear2 = nn.Linear(4 * width, width, bias=False)

    def forward(self, x):
        h = self.norm1(x)
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        x = x + self.self_attn(h, h, h, attn_mask=mask, need_weights=False)[0]
        return x + self.linear2(functional.gelu(self.linear1(self.norm2(x))))


class Gpt(nn.Module):
    """x [B, T] token ids; the output layer shares the table of the tokens."""

    def __init__(self, vocabulary=65, context=64, layers=4, heads=4, width=128):
        super().__init__()
        self.input = nn.ModuleList([nn.Embedding(vocabulary, width), nn.Embedding(context, width)])
        self.layers = layers
        for layer in range(layers):
            setattr(self, f"block{layer}", Block(width, heads))
        self.head = nn.ModuleDict({"norm": nn.LayerNorm(width)})

    def forward(self, x):
        h = self.input[0](x) + self.input[1](torch.arange(x.shape[1]))
        for layer in range(self.layers):
            h = getattr(self, f"block{layer}")(h)
        return functional.linear(self.head["norm"](h), self.input[0].weight)


def block():
    """x [B, T, 32]: torch's own layer, with biases, post-norm."""
    return nn.TransformerEncoderLayer(32, 4, 64, dropout=0, activation="relu", batch_first=True)


def convolutions():
    """x [N, 8, L]: the kinds of filters that the models above do not have."""
    return nn.Sequential(nn.Conv1d(8, 12, 3, padding=1, groups=2),
                         nn.ConvTranspose1d(12, 6, 4, stride=2), nn.GroupNorm(3, 6))


def up():
    """x [N, 4, H, W]"""
    return nn.Sequential(nn.ConvTranspose2d(4, 6, (2, 3), stride=2, groups=2), nn.BatchNorm2d(6))


def gpt2():
    """Hugging Face's, without its head, which is the table of the tokens."""
    from transformers import GPT2Config, GPT2Model
    return GPT2Model(GPT2Config(vocab_size=97, n_positions=64, n_embd=64, n_layer=3, n_head=4,
                                resid_pdrop=0, embd_pdrop=0, attn_pdrop=0))


def resnet50():
    from torchvision.models import resnet50 as published
    return published(num_classes=10)


def resnet18_cifar():
    """torchvision's, with the stem that everybody gives it for images of 32 x 32."""
    from torchvision.models import resnet18
    model = resnet18(num_classes=10)
    model.conv1 = nn.Conv2d(3, 64, 3, 1, 1, bias=False)
    model.maxpool = nn.Identity()
    return model


MODELS = {"lenet": lenet, "resnet8": resnet8, "gpt": Gpt, "block": block,
          "convolutions": convolutions, "up": up, "gpt2": gpt2, "resnet50": resnet50,
          "resnet18-cifar": resnet18_cifar}


def read(path):
    try:
        from safetensors.torch import load_file
        return load_file(path)
    except ImportError:
        return {name: torch.from_numpy(a) for name, a in safetensors_file.read(path).items()}


def write(path, tensors):
    tensors = {name: tensor.detach().contiguous() for name, tensor in tensors.items()}
    try:
        from safetensors.torch import save_file
        save_file(tensors, path)
    except ImportError:
        safetensors_file.write(path, {name: t.numpy() for name, t in tensors.items()})


def channels_second(x):  # from [N, H, W, C] or [N, L, C]
    return x.movedim(-1, 1)


def channels_last(x):
    return x.movedim(1, -1)


def run(name, model, x):
    """Inputs and outputs as Plimsoll has them."""
    image = name not in ("gpt", "gpt2", "block")
    with torch.no_grad():
        y = model(channels_second(x) if image else x)
        if name == "gpt2":
            y = functional.linear(y.last_hidden_state, model.wte.weight)
    return channels_last(y) if image and y.dim() > 2 else y


def main():
    torch.manual_seed(1)
    name, folder = sys.argv[1:]
    path = lambda file: os.path.join(folder, file)
    model = MODELS[name]().eval()
    model.load_state_dict(read(path("ours.safetensors")), strict=True)
    ours = read(path("ours_run.safetensors"))
    logits = run(name, model, ours["x"])
    error = ((logits - ours["logits"]).abs().max() / ours["logits"].abs().max()).item()
    print(f"{name}: the logits differ by {error:.1e}")
    if not error <= TOLERANCE:
        sys.exit(1)

    fresh = MODELS[name]()
    if any(isinstance(module, nn.BatchNorm2d) for module in fresh.modules()):
        run(name, fresh, ours["x"])  # moves the running statistics and counts a batch
    fresh.eval()
    write(path("theirs.safetensors"), fresh.state_dict())
    write(path("theirs_run.safetensors"),
          {"x": ours["x"], "logits": run(name, fresh, ours["x"])})


main()
