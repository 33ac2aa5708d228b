"""Steps of fine-tuning in PyTorch, PEFT and bitsandbytes: the other side of compare_tuning.py.

    torch_tuning.py --model DIR --batches FILE [--lora 16] [--base f32|bf16|nf4] [--checkpoint]
                    [--threads 2]

Answers each number n on a line of stdin with one line of JSON, as tune_steps does.
"""
import argparse
import json
import os
import sys
import time

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
import transformers
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file


def peak_kib():
    for line in open("/proc/self/status"):
        if line.startswith("VmHWM:"):
            return int(line.split()[1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    parser.add_argument("--batches", required=True)
    parser.add_argument("--lora", type=int, default=0)
    parser.add_argument("--base", default="f32")
    parser.add_argument("--checkpoint", action="store_true")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    start = peak_kib()
    dtype = torch.bfloat16 if options.base == "bf16" else torch.float32
    more = {}
    if options.base == "nf4":
        more = dict(device_map="cpu", quantization_config=transformers.BitsAndBytesConfig(
            load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=True))
    model = transformers.AutoModelForCausalLM.from_pretrained(options.model, dtype=dtype, **more)
    model.config.use_cache = False
    if options.lora:
        model = get_peft_model(model, LoraConfig(r=options.lora, lora_alpha=2 * options.lora,
                                                 target_modules="all-linear"))
    if options.checkpoint:
        model.enable_input_require_grads()
        model.gradient_checkpointing_enable(dict(use_reentrant=False))
    model.train()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
    file = load_file(options.batches)
    done = 0
    for line in sys.stdin:
        ms, losses = [], []
        for _ in range(int(line)):
            x, y = file["x"][done % len(file["x"])], file["y"][done % len(file["y"])]
            begin = time.perf_counter()
            logits = model(x).logits
            loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), y.flatten())
            del logits
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            losses.append(loss.item())
            ms.append(1e3 * (time.perf_counter() - begin))
            done += 1
        print(json.dumps({"ms": ms, "loss": losses, "peak_kib": peak_kib(), "start_kib": start}),
              flush=True)


main()
