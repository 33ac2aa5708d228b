"""Folders for gguf_test.cpp, and what llama.cpp's own package says of the files made of them.

    gguf_files.py make FOLDER             small models of transformers, a folder for each
    gguf_files.py check FOLDER FILES      compares names, bytes, fields and tokens of each file
                                          MODEL-TYPE.gguf; then logits as transformers reads it
"""
import json
import os
import sys

os.environ["HF_HUB_OFFLINE"] = "1"

import gguf
import numpy
import tokenizers
import torch
import transformers

SIZES = dict(vocab_size=300, initializer_range=0.2, bos_token_id=256, eos_token_id=257)
LLAMA = dict(hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=128, pad_token_id=None, **SIZES)
LLAMA3 = dict(rope_parameters=dict(rope_type="llama3", rope_theta=5000.0, factor=8.0,
                                   low_freq_factor=1.0, high_freq_factor=4.0,
                                   original_max_position_embeddings=32))
MODELS = {
    "gpt2": ("GPT2LMHeadModel", transformers.GPT2Config(n_positions=1024, n_embd=64, n_layer=2,
                                                        n_head=4, **SIZES)),
    "llama": ("LlamaForCausalLM", transformers.LlamaConfig(**LLAMA)),
    "llama-biases": ("LlamaForCausalLM", transformers.LlamaConfig(attention_bias=True, **LLAMA3,
                                                                  **LLAMA)),
    "mistral": ("MistralForCausalLM", transformers.MistralConfig(sliding_window=None, **LLAMA)),
    "qwen2": ("Qwen2ForCausalLM", transformers.Qwen2Config(tie_word_embeddings=True, **LLAMA)),
    "qwen3": ("Qwen3ForCausalLM", transformers.Qwen3Config(head_dim=128, **LLAMA)),
    "odd-rows": ("LlamaForCausalLM",
                 transformers.LlamaConfig(**{**LLAMA, "intermediate_size": 88})),
}
ARCHITECTURES = {"gpt2": gguf.MODEL_ARCH.GPT2, "qwen2": gguf.MODEL_ARCH.QWEN2,
                 "qwen3": gguf.MODEL_ARCH.QWEN3}
TYPES = {"f16": gguf.GGMLQuantizationType.F16, "q8_0": gguf.GGMLQuantizationType.Q8_0,
         "q4_0": gguf.GGMLQuantizationType.Q4_0}
# What transformers reads otherwise than it was: biases of llama, and Mistral as llama's.
UNREAD = ("llama-biases", "mistral")


def tokenizer():
    """The bytes, two special tokens and two merges."""
    tokens = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    tokens += ["<|begin|>", "<|end|>", "th", "the"]
    model = tokenizers.models.BPE({token: i for i, token in enumerate(tokens)},
                                  [("t", "h"), ("th", "e")])
    result = tokenizers.Tokenizer(model)
    result.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    result.decoder = tokenizers.decoders.ByteLevel()
    result.add_special_tokens(["<|begin|>", "<|end|>"])
    return result


def make(folder):
    for number, (name, (head, config)) in enumerate(MODELS.items()):
        torch.manual_seed(number + 1)
        model = getattr(transformers, head)(config).eval()
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.data += 0.1 * torch.randn_like(parameter)
        model.save_pretrained(f"{folder}/{name}")
        tokenizer().save(f"{folder}/{name}/tokenizer.json")
        with open(f"{folder}/{name}/tokenizer_config.json", "w") as file:
            json.dump({"chat_template": "{{ messages }}"}, file)


def llama_order(weight, heads):
    """Rows as llama.cpp's converter turns them."""
    return (weight.reshape(heads, 2, weight.shape[0] // heads // 2, *weight.shape[1:])
            .swapaxes(1, 2).reshape(weight.shape))


def expected(name, model, config):
    """Of each tensor the name in the file and the f32 that it is made of."""
    architecture = ARCHITECTURES.get(name, gguf.MODEL_ARCH.LLAMA)
    names = gguf.get_tensor_name_map(architecture, config.num_hidden_layers)
    tied = config.tie_word_embeddings
    for path, tensor in model.state_dict().items():
        if path == "lm_head.weight" and tied:
            continue
        weight = tensor.float().numpy()
        if name == "gpt2" and path.endswith(("c_attn.weight", "c_proj.weight", "c_fc.weight")):
            weight = weight.T
        if architecture == gguf.MODEL_ARCH.LLAMA and ".q_proj." in path:
            weight = llama_order(weight, config.num_attention_heads)
        if architecture == gguf.MODEL_ARCH.LLAMA and ".k_proj." in path:
            weight = llama_order(weight, config.num_key_value_heads)
        yield names.get_name(path, (".weight", ".bias")), numpy.ascontiguousarray(weight)


def check_tensors(name, reader, model, config, kind):
    tensors = {tensor.name: tensor for tensor in reader.tensors}
    for path, weight in expected(name, model, config):
        tensor = tensors.pop(path)
        assert list(reversed(tensor.shape)) == list(weight.shape), path
        wanted = TYPES[kind] if weight.ndim == 2 else gguf.GGMLQuantizationType.F32
        if path == "position_embd.weight":
            wanted = gguf.GGMLQuantizationType.F32
        if weight.shape[-1] % 32 and wanted != gguf.GGMLQuantizationType.F32:
            wanted = gguf.GGMLQuantizationType.F16
        assert tensor.tensor_type == wanted, (path, tensor.tensor_type)
        theirs = gguf.quants.quantize(weight, wanted)
        assert tensor.data.tobytes() == theirs.tobytes(), path
        values = gguf.quants.dequantize(tensor.data, wanted)
        assert numpy.abs(values - weight).max() <= numpy.abs(weight).max() / 7, path
    if name == "llama-biases":
        factors = tensors.pop("rope_freqs.weight").data
        plain = 5000.0 ** (-numpy.arange(0, 16, 2) / 16)
        inverse = transformers.modeling_rope_utils.ROPE_INIT_FUNCTIONS["llama3"](config, "cpu")[0]
        assert numpy.allclose(plain / factors, inverse.numpy(), rtol=1e-5)
    assert not tensors, list(tensors)


def check_fields(name, reader, config):
    fields = {key: field.contents() for key, field in reader.fields.items()}
    architecture = ARCHITECTURES.get(name, gguf.MODEL_ARCH.LLAMA)
    of = gguf.MODEL_ARCH_NAMES[architecture]
    assert fields["general.architecture"] == of
    assert fields[f"{of}.block_count"] == config.num_hidden_layers
    assert fields[f"{of}.context_length"] == config.max_position_embeddings
    assert fields[f"{of}.embedding_length"] == config.hidden_size
    assert fields[f"{of}.attention.head_count"] == config.num_attention_heads
    if name != "gpt2":
        assert fields[f"{of}.feed_forward_length"] == config.intermediate_size
        assert fields[f"{of}.attention.head_count_kv"] == config.num_key_value_heads
        assert fields[f"{of}.rope.freq_base"] == config.rope_parameters["rope_theta"]
    assert fields["tokenizer.ggml.eos_token_id"] == 257
    assert fields["tokenizer.ggml.bos_token_id"] == 256
    return fields


def check_tokens(folder, fields):
    theirs = tokenizers.Tokenizer.from_file(f"{folder}/tokenizer.json")
    tokens, kinds = fields["tokenizer.ggml.tokens"], fields["tokenizer.ggml.token_type"]
    assert len(tokens) == len(kinds) == 300
    for number, (token, kind) in enumerate(zip(tokens, kinds)):
        known = theirs.id_to_token(number)
        assert token == (known or f"[PAD{number}]"), (number, token)
        assert kind == (3 if number in (256, 257) else 1 if known else 5), (number, kind)
    with open(f"{folder}/tokenizer.json", encoding="utf-8") as file:
        merges = json.load(file)["model"]["merges"]
    assert fields["tokenizer.ggml.merges"] == [m if isinstance(m, str) else " ".join(m)
                                               for m in merges]
    assert fields["tokenizer.ggml.model"] == "gpt2"
    assert fields["tokenizer.chat_template"] == "{{ messages }}"


def check(folder, files):
    paths = sorted(os.listdir(files))
    assert len(paths) == len(MODELS) * len(TYPES), paths
    for path in paths:
        name, kind = path.removesuffix(".gguf").rsplit("-", 1)
        print(name, kind, flush=True)
        check_file(name, f"{folder}/{name}", f"{files}/{path}", kind)


def check_file(name, folder, path, kind):
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    reader = gguf.GGUFReader(path)
    check_tensors(name, reader, model, model.config, kind)
    check_tokens(folder, check_fields(name, reader, model.config))
    if kind != "f16" or name in UNREAD:
        return
    again = transformers.AutoModelForCausalLM.from_pretrained(
        os.path.dirname(path), gguf_file=os.path.basename(path), dtype=torch.float32).eval()
    ids = torch.randint(0, 250, (2, 40), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        ours, theirs = again(ids).logits, model(ids).logits
    difference = (ours - theirs).abs().max() / theirs.abs().max()
    assert difference < 5e-3, difference
    print(f"    logits differ by {difference:.1e}")


globals()[sys.argv[1]](*sys.argv[2:])
