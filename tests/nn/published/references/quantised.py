"""Small models in 8 and 4 bits as transformers and bitsandbytes load them, for quantised_test.cpp.

    quantised.py FOLDER

makes a folder for each: base/ with the weights in f32, and theirs.safetensors with ids, the logits
of a model whose quantised matrices are what bitsandbytes dequantises them to, and those matrices.
"""
import os
import sys

os.environ["HF_HUB_OFFLINE"] = "1"

import bitsandbytes
import torch
import transformers
from safetensors.torch import save_file

SIZES = dict(vocab_size=97, initializer_range=0.1, bos_token_id=None, eos_token_id=None)
LLAMA = dict(hidden_size=128, intermediate_size=192, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=64, pad_token_id=None, **SIZES)
GPT2 = dict(n_positions=64, n_embd=128, n_layer=2, n_head=4, **SIZES)
MODELS = {
    "llama": ("LlamaForCausalLM", transformers.LlamaConfig(**LLAMA)),
    "qwen2": ("Qwen2ForCausalLM", transformers.Qwen2Config(**LLAMA)),
    "gpt2": ("GPT2LMHeadModel", transformers.GPT2Config(**GPT2)),
}
KINDS = {
    "nf4": transformers.BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4",
                                           bnb_4bit_use_double_quant=True),
    "int8": transformers.BitsAndBytesConfig(load_in_8bit=True),
}


def dequantised(module):
    if isinstance(module, bitsandbytes.nn.Linear4bit):
        weight = module.weight
        return bitsandbytes.functional.dequantize_4bit(weight.data, weight.quant_state)
    return module.weight.CB.float() * module.weight.SCB[:, None] / 127


def main(folder):
    for number, (name, (head, config)) in enumerate(MODELS.items()):
        torch.manual_seed(number + 1)
        # In 16 bits first, as bitsandbytes makes the 8 bits of those.
        model = getattr(transformers, head)(config).half().float().eval()
        for kind, options in KINDS.items():
            to = f"{folder}/{name}-{kind}"
            model.save_pretrained(f"{to}/base")
            quantised = transformers.AutoModelForCausalLM.from_pretrained(
                f"{to}/base", quantization_config=options, device_map="cpu", dtype=torch.float32)
            whole = transformers.AutoModelForCausalLM.from_pretrained(f"{to}/base").eval()
            matrices = {}
            for path, module in quantised.named_modules():
                if not isinstance(module, (bitsandbytes.nn.Linear4bit,
                                           bitsandbytes.nn.Linear8bitLt)):
                    continue
                matrix = dequantised(module).float()
                matrix = (matrix.T if name == "gpt2" else matrix).contiguous()
                whole.get_submodule(path).weight.data = matrix
                matrices[path + ".weight"] = matrix
            assert len(matrices) == (8 if name == "gpt2" else 14), matrices.keys()
            ids = torch.randint(0, 97, (2, 40))
            with torch.no_grad():
                logits = whole(ids).logits
            save_file({"ids": ids, "logits": logits.contiguous(), **matrices},
                      f"{to}/theirs.safetensors")


main(*sys.argv[1:])
