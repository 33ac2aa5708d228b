"""GPT-2 of Hugging Face's transformers with random weights, for generate_test.cpp.

    generate_torch.py FOLDER

writes weights.safetensors, as GPT2Model names them, and theirs.safetensors: 200 greedy tokens
behind a prompt, scores, and the tokens that temperature, top_k and top_p leave of them, in that
order.
"""
import sys

import torch
import transformers
from safetensors.torch import save_file
from transformers.generation import (LogitsProcessorList, TemperatureLogitsWarper,
                                     TopKLogitsWarper, TopPLogitsWarper)

PROMPT = [5, 17, 3, 88, 41, 2, 9]
TOKENS = 200


def main():
    folder = sys.argv[1]
    torch.manual_seed(3)
    config = transformers.GPT2Config(vocab_size=97, n_positions=256, n_embd=64, n_layer=3, n_head=4,
                                     initializer_range=0.2, bos_token_id=None, eos_token_id=None)
    model = transformers.GPT2LMHeadModel(config).eval()
    for name, parameter in model.named_parameters():  # norms that are not 1, biases that are not 0
        if parameter.dim() == 1:
            parameter.data += 0.1 * torch.randn_like(parameter)
    state = model.transformer.state_dict()
    save_file({name: tensor.contiguous() for name, tensor in state.items()},
              f"{folder}/weights.safetensors")
    with torch.no_grad():
        greedy = model.generate(torch.tensor([PROMPT]), max_new_tokens=TOKENS, do_sample=False,
                                pad_token_id=0)
    theirs = {"greedy": greedy[0].contiguous(), "scores": 3 * torch.randn(97)}
    number = 0
    for temperature in (0.5, 1.0, 1.7):
        for k in (0, 1, 7, 50):
            for p in (0.3, 0.9, 1.0):
                filters = LogitsProcessorList([TemperatureLogitsWarper(temperature)])
                if k > 0:
                    filters.append(TopKLogitsWarper(k))
                if p < 1:
                    filters.append(TopPLogitsWarper(p))
                left = filters(None, theirs["scores"][None].clone())[0]
                theirs[f"kept{number}"] = torch.nonzero(torch.isfinite(left))[:, 0].contiguous()
                number += 1
    save_file(theirs, f"{folder}/theirs.safetensors")


if __name__ == "__main__":
    main()
