"""Small models of Hugging Face's transformers with random weights, for model_test.cpp.

    models.py FOLDER

makes a folder for each: config.json and weights as save_pretrained() writes them, and
theirs.safetensors: ids [2, 40], their logits in f32, and a prompt with 200 greedy tokens behind it.
"""
import os
import sys

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
import transformers
from safetensors.torch import save_file

PROMPT = [5, 17, 3, 88, 41, 2, 9]
TOKENS = 200

LLAMA = dict(vocab_size=97, hidden_size=48, intermediate_size=80, num_hidden_layers=3,
             num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=256,
             rms_norm_eps=1e-5, initializer_range=0.2, bos_token_id=None, eos_token_id=None,
             pad_token_id=None, tie_word_embeddings=False)
GPT2 = dict(vocab_size=97, n_positions=256, n_embd=48, n_layer=3, n_head=4, initializer_range=0.2,
            bos_token_id=None, eos_token_id=None)


def rope(kind, **more):
    return dict(rope_parameters=dict(rope_type=kind, rope_theta=5000.0, **more))


MODELS = {
    "gpt2": ("GPT2", {}),
    "gpt2-other": ("GPT2", dict(n_inner=100, activation_function="gelu", tie_word_embeddings=False,
                                scale_attn_by_inverse_layer_idx=True, layer_norm_epsilon=1e-3)),
    "gpt2-relu": ("GPT2", dict(activation_function="relu", reorder_and_upcast_attn=True)),
    "llama": ("Llama", {}),
    "llama-all-heads": ("Llama", dict(num_key_value_heads=4, tie_word_embeddings=True)),
    "llama-biases": ("Llama", dict(attention_bias=True, mlp_bias=True, num_key_value_heads=1)),
    "llama-head-dim": ("Llama", dict(head_dim=20, hidden_act="gelu")),
    "llama-gelu-tanh": ("Llama", dict(hidden_act="gelu_pytorch_tanh", **rope("default"))),
    "llama-linear": ("Llama", rope("linear", factor=4.0)),
    "llama-dynamic": ("Llama", rope("dynamic", factor=4.0)),
    "llama-llama3": ("Llama", rope("llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                                   original_max_position_embeddings=64)),
    "llama-yarn": ("Llama", rope("yarn", factor=4.0, original_max_position_embeddings=64)),
    "llama-yarn-other": ("Llama", rope("yarn", factor=4.0, original_max_position_embeddings=64,
                                       beta_fast=16.0, beta_slow=2.0, mscale=1.3,
                                       mscale_all_dim=0.7, truncate=False)),
    "llama-shards": ("Llama", {}),
    "llama-bf16": ("Llama", {}),
    "llama-f16": ("Llama", dict(tie_word_embeddings=True)),
    "mistral": ("Mistral", dict(sliding_window=None)),
    "mistral-window": ("Mistral", dict(sliding_window=9, head_dim=16)),
    "mistral-window-of-two": ("Mistral", dict(sliding_window=2)),
    "qwen2": ("Qwen2", dict(tie_word_embeddings=True)),
    "qwen2-windows": ("Qwen2", dict(use_sliding_window=True, sliding_window=7,
                                    max_window_layers=1)),
    "qwen3": ("Qwen3", dict(head_dim=16)),
    "qwen3-other": ("Qwen3", dict(head_dim=12, attention_bias=True, use_sliding_window=True,
                                  sliding_window=5, tie_word_embeddings=True,
                                  layer_types=["sliding_attention", "full_attention",
                                               "sliding_attention"])),
}
HEADS = {"GPT2": "GPT2LMHeadModel"}


def make(name, folder):
    family, options = MODELS[name]
    sizes = GPT2 if family == "GPT2" else LLAMA
    config = getattr(transformers, family + "Config")(**{**sizes, **options})
    config._attn_implementation = "eager"
    model = getattr(transformers, HEADS.get(family, family + "ForCausalLM"))(config).eval()
    for parameter in model.parameters():  # norms that are not 1, biases that are not 0
        if parameter.dim() == 1:
            parameter.data += 0.1 * torch.randn_like(parameter)
    saved = {"llama-bf16": torch.bfloat16, "llama-f16": torch.float16}.get(name)
    if saved:
        model = model.to(saved)
    shards = {"max_shard_size": "40KB"} if name == "llama-shards" else {}
    model.save_pretrained(folder, **shards)
    if not saved:
        return model
    # Read again: to() has rounded the frequencies of positions too, which are not saved.
    return type(model).from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")


def main():
    for number, name in enumerate(MODELS):
        folder = f"{sys.argv[1]}/{name}"
        torch.manual_seed(number + 1)
        model = make(name, folder)
        ids = torch.randint(0, 97, (2, 40))
        with torch.no_grad():
            logits = model(ids).logits
            greedy = model.generate(torch.tensor([PROMPT]), max_new_tokens=TOKENS, do_sample=False,
                                    pad_token_id=0)
        save_file({"ids": ids, "logits": logits.contiguous(), "greedy": greedy[0].contiguous()},
                  f"{folder}/theirs.safetensors")


if __name__ == "__main__":
    main()
