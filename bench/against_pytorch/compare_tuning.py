"""Fine-tuning a published model in Plimsoll and in PyTorch with PEFT on this CPU, side by side.

    compare_tuning.py --tune-steps build/bin/tune_steps [--batch 2] [--context 256] [--rounds 5]
                      [--methods full,lora,qlora]

The model is of SmolLM-135M's config with random weights, in bf16, made by transformers. All
processes of a method are alive at the same time and take turns of one step; each is asked for its
own peak. Plimsoll has a percentage of the bytes that its step is planned for otherwise; weights and
their optimizer state alone are more than 70 % where all are trained. PyTorch is measured as it
comes and with gradient checkpointing. Random batches; the loss of the first step must be the same
on both sides.
"""
import argparse
import os
import sys
import tempfile

from compare import MALLOC, Runner

SMOLLM = dict(vocab_size=49152, hidden_size=576, intermediate_size=1536, num_hidden_layers=30,
              num_attention_heads=9, num_key_value_heads=3, max_position_embeddings=2048,
              rms_norm_eps=1e-5, rope_theta=10000.0, tie_word_embeddings=True, bos_token_id=0,
              eos_token_id=0, initializer_range=0.04)
METHODS = {  # words, budgets in percent
    "full": ([], ["100", "80"]),
    "lora": (["--lora", "16"], ["100", "70", "50"]),
    "qlora": (["--lora", "16", "--base", "nf4"], ["100", "70", "50"]),
}


def make(folder, options):
    import torch
    import transformers
    from safetensors.torch import save_file
    torch.manual_seed(1)
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**SMOLLM))
    model.to(torch.bfloat16).save_pretrained(f"{folder}/model")
    ids = torch.randint(0, SMOLLM["vocab_size"], (4, options.batch, options.context + 1))
    save_file({"x": ids[..., :-1].contiguous(), "y": ids[..., 1:].contiguous()},
              f"{folder}/batches")


def compare(method, folder, options):
    words, budgets = METHODS[method]
    shared = [*words, "--model", f"{folder}/model", "--batches", f"{folder}/batches",
              "--threads", str(options.threads)]
    torch = [sys.executable, os.path.join(os.path.dirname(__file__), "torch_tuning.py")]
    runners = [Runner(f"plimsoll, {percent} %",
                      [options.tune_steps, *shared, "--budget-percent", percent])
               for percent in budgets]
    variants = [("pytorch", []), ("pytorch, checkpoints", ["--checkpoint"])]
    if method == "lora":
        variants.append(("pytorch, bf16", ["--base", "bf16"]))
    runners += [Runner(name, torch + shared + extra, MALLOC) for name, extra in variants]
    for runner in runners:
        runner.run(1, timed=False)
    for _ in range(options.rounds):
        for runner in runners:
            runner.run(1)
    for runner in runners:
        answer = runner.last
        planned = f"{answer['planned'] / 2**20:8.1f} {answer['held'] / 2**20:8.1f}" \
            if "planned" in answer else " " * 17
        print(f"{method:6} {runner.name:22} {planned} {runner.peak:8.0f} "
              f"{runner.peak - runner.start:8.0f} {runner.median():9.0f}   {runner.losses[0]:.4f}",
              flush=True)
        runner.end()
    first = [runner.losses[0] for runner in runners if "bf16" not in runner.name]
    if max(first) - min(first) > 1e-3 * first[0]:
        sys.exit(f"compare: {method}: the losses of the first step differ: {first}.")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tune-steps", required=True)
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--context", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    print(f"{options.batch} rows of {options.context} tokens, {options.threads} threads\n"
          "                                    MiB                process above start  ms a step\n"
          "                               planned     held", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        make(folder, options)
        for method in options.methods.split(","):
            compare(method, folder, options)


if __name__ == "__main__":
    main()
