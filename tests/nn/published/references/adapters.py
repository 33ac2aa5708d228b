"""LoRA by Hugging Face's PEFT over small models, for adapter_test.cpp.

    adapters.py make FOLDER          for each case a folder: base/, the adapter as it begins in
                                     begin/ and after 20 steps of AdamW in end/, and in
                                     theirs.safetensors the batches, the losses of the steps and
                                     logits at the end
    adapters.py ours FOLDER          logits of each base/ with the adapter ours/ that we have
                                     written, in out
    adapters.py merged FOLDER        logits of each folder merged/ that we have exported, in
                                     merged_out
"""
import os
import sys

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
import transformers
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file, save_file

STEPS = 20
SIZES = dict(vocab_size=97, initializer_range=0.2, bos_token_id=None, eos_token_id=None)
LLAMA = dict(hidden_size=48, intermediate_size=80, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=64, pad_token_id=None, **SIZES)
GPT2 = dict(n_positions=64, n_embd=48, n_layer=2, n_head=4, embd_pdrop=0.0, resid_pdrop=0.0,
            attn_pdrop=0.0, **SIZES)

CASES = {
    "llama": ("Llama", LLAMA, dict(r=4, lora_alpha=8, target_modules=["q_proj", "v_proj"])),
    "llama-all": ("Llama", dict(tie_word_embeddings=True, attention_bias=True, **LLAMA),
                  dict(r=8, lora_alpha=4, target_modules="all-linear", use_rslora=True)),
    "llama-head": ("Llama", LLAMA, dict(r=3, lora_alpha=5,
                                        target_modules=["down_proj", "lm_head"])),
    "llama-random": ("Llama", LLAMA, dict(r=4, lora_alpha=16, init_lora_weights=False,
                                          target_modules=["layers.1.self_attn.k_proj", "o_proj"])),
    "gpt2": ("GPT2", GPT2, dict(r=4, lora_alpha=8, target_modules=["c_attn"])),
    "gpt2-all": ("GPT2", GPT2, dict(r=2, lora_alpha=2, use_rslora=True, init_lora_weights=False,
                                    target_modules=["attn.c_attn", "attn.c_proj", "mlp.c_fc",
                                                    "mlp.c_proj"])),
}


def make(name, folder):
    family, sizes, lora = CASES[name]
    config = getattr(transformers, family + "Config")(**sizes)
    config._attn_implementation = "eager"
    head = "GPT2LMHeadModel" if family == "GPT2" else family + "ForCausalLM"
    base = getattr(transformers, head)(config)
    base.save_pretrained(f"{folder}/base")
    model = get_peft_model(base, LoraConfig(task_type="CAUSAL_LM", lora_dropout=0.0, **lora))
    model.save_pretrained(f"{folder}/begin")
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=3e-3, weight_decay=0.1)
    ids, labels, losses = [], [], []
    model.train()
    for step in range(STEPS):
        x = torch.randint(0, 97, (3, 17))
        y = torch.roll(x, -1, dims=1)
        y[:, -1] = -100
        y[0, : step % 10] = -100
        loss = torch.nn.functional.cross_entropy(model(x).logits.flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ids.append(x), labels.append(y), losses.append(loss.detach())
    model.eval()
    model.save_pretrained(f"{folder}/end")
    with torch.no_grad():
        logits = model(ids[0]).logits
        merged = model.merge_and_unload()(ids[0]).logits
    save_file({"ids": torch.stack(ids), "labels": torch.stack(labels),
               "losses": torch.stack(losses), "logits": logits.contiguous(),
               "merged": merged.contiguous()}, f"{folder}/theirs.safetensors")


def write_logits(model, folder, out):
    ids = load_file(f"{folder}/theirs.safetensors")["ids"][0]
    with torch.no_grad():
        logits = model.eval()(ids).logits
    save_file({"logits": logits.float().contiguous()}, f"{folder}/{out}")


def main(command, parent):
    for number, name in enumerate(CASES):
        folder = f"{parent}/{name}"
        if command == "make":
            torch.manual_seed(number + 1)
            os.makedirs(folder)
            make(name, folder)
        elif command == "ours":
            base = transformers.AutoModelForCausalLM.from_pretrained(f"{folder}/base")
            write_logits(PeftModel.from_pretrained(base, f"{folder}/ours"), folder, "out")
        else:
            merged = transformers.AutoModelForCausalLM.from_pretrained(f"{folder}/merged")
            write_logits(merged, folder, "merged_out")


main(*sys.argv[1:])
