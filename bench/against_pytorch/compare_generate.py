"""Text written token by token by GPT-2 124M with random weights: Plimsoll's generate and PyTorch's
GPT2LMHeadModel (transformers) on this CPU, batch 1, greedy.

    compare_generate.py --generate build/bin/generate [--tokens 200] [--prompt 32] [--rounds 5]
                        [--threads 2] [--precision f32,bf16]

Both read the same weights. They take turns, a whole text each, so that a change of the machine's
clock meets both; the time of a token is the median over all tokens of all rounds but the prompt.
PyTorch's is that of the faster of two ways: its own generate(), and a bare loop over the model with
its cache. In f32 both have to write the same tokens.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

SIZE = 50257


def write_model(folder):
    """Weights and a tokenizer of 256 bytes and of tokens that no text has."""
    import torch
    import transformers
    from safetensors.torch import save_file
    torch.manual_seed(1)
    config = transformers.GPT2Config(bos_token_id=None, eos_token_id=None)
    model = transformers.GPT2LMHeadModel(config).eval()
    for name, parameter in model.named_parameters():  # scores that differ
        if parameter.dim() == 2:
            parameter.data *= 4
    weights = model.transformer.state_dict()
    save_file({name: tensor.contiguous() for name, tensor in weights.items()},
              os.path.join(folder, "model.safetensors"))
    alphabet = [b for b in range(256) if 33 <= b <= 126 or (b >= 161 and b != 173)]
    others = [b for b in range(256) if b not in alphabet]
    tokens = {chr(b): i for i, b in enumerate(alphabet)}
    tokens |= {chr(256 + i): len(alphabet) + i for i in range(len(others))}
    tokens |= {f"<{i}>": i for i in range(256, SIZE)}
    with open(os.path.join(folder, "vocab.json"), "w") as file:
        json.dump(tokens, file)
    open(os.path.join(folder, "merges.txt"), "w").write("#version: 0.2\n")
    return model


class Ours:
    name = "plimsoll"

    def __init__(self, options, folder, precision):
        self.folder = folder
        self.command = [options.generate, "--model", "gpt2-124M", "--greedy",
                        "--weights", os.path.join(folder, "model.safetensors"),
                        "--tokenizer", folder, "--prompt", "a" * options.prompt,
                        "--tokens", str(options.tokens), "--threads", str(options.threads),
                        "--precision", precision, "--json", os.path.join(folder, "run.json")]

    def write(self):
        subprocess.run(self.command, check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        with open(os.path.join(self.folder, "run.json")) as file:
            run = json.load(file)
        self.held = run["peak_bytes"]
        if run["peak_bytes"] != run["planned_bytes"]:
            sys.exit(f"compare_generate: planned {run['planned_bytes']} bytes, held {self.held}.")
        return run["tokens"], run["seconds"]


class Loop:
    name = "a loop"

    def __init__(self, options, model):
        import torch
        self.tokens, self.model = options.tokens, model
        self.prompt = torch.full((1, options.prompt), 64)  # "a" is the 65th of the alphabet

    def write(self):
        import torch
        ids, cache, seconds = self.prompt, None, []
        text = self.prompt[0].tolist()
        with torch.inference_mode():
            for _ in range(self.tokens):
                start = time.perf_counter()
                out = self.model(ids, past_key_values=cache, use_cache=True, logits_to_keep=1)
                cache, ids = out.past_key_values, out.logits[:, -1].argmax(-1, keepdim=True)
                text.append(ids.item())
                seconds.append(time.perf_counter() - start)
        return text, seconds


class Streamer:
    """Hears of each token as generate() makes it."""

    def __init__(self):
        self.times = []

    def put(self, _):
        self.times.append(time.perf_counter())

    def end(self):
        pass


class Generate(Loop):
    name = "generate()"

    def write(self):
        import torch
        streamer = Streamer()
        with torch.inference_mode():
            text = self.model.generate(self.prompt, max_new_tokens=self.tokens, do_sample=False,
                                       pad_token_id=0, streamer=streamer)
        times = streamer.times
        return text[0].tolist(), [b - a for a, b in zip(times, times[1:])]


def compare(options, folder, model, precision):
    import torch
    model = model.to({"f32": torch.float32, "bf16": torch.bfloat16,
                      "f16": torch.float16}[precision])
    ours = Ours(options, folder, precision)
    theirs = [Loop(options, model), Generate(options, model)]
    for runner in [ours] + theirs:
        runner.ms, runner.first = [], []
        tokens, _ = runner.write()  # not timed
        if precision == "f32" and runner is not ours and tokens != text:
            sys.exit(f"compare_generate: other tokens: {text} and {tokens}.")
        text = tokens
    for _ in range(options.rounds):
        for runner in [ours] + theirs:
            seconds = runner.write()[1]
            runner.first.append(1e3 * seconds[0])
            runner.ms += [1e3 * s for s in seconds[1:]]
    best = min(theirs, key=lambda runner: statistics.median(runner.ms))
    mine, other = statistics.median(ours.ms), statistics.median(best.ms)
    print(f"{precision:5} {mine:9.2f} {other:9.2f}  {best.name:11}{1e3 / mine:9.1f}"
          f" {1e3 / other:9.1f} {other / mine:7.2f} {statistics.median(ours.first):9.1f}"
          f" {statistics.median(best.first):9.1f} {ours.held / 2**20:10.1f}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--generate", required=True)
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--prompt", type=int, default=32, help="tokens")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--precision", default="f32")
    options = parser.parse_args()

    import torch
    import transformers
    torch.set_num_threads(options.threads)
    print(f"PyTorch {torch.__version__}, transformers {transformers.__version__}, "
          f"{torch.backends.cpu.get_cpu_capability()}, {options.threads} threads, "
          f"{options.prompt} tokens read and {options.tokens} written\n"
          "          ms a token                        tokens/s           more      ms for the "
          "prompt        MiB\n"
          "type   plimsoll   pytorch  variant     plimsoll   pytorch   times  plimsoll   pytorch"
          "   plimsoll")
    with tempfile.TemporaryDirectory() as folder:
        model = write_model(folder)
        for precision in options.precision.split(","):
            compare(options, folder, model, precision)


if __name__ == "__main__":
    main()
