"""Tokenizers of other forms than GPT-2's by tokenizers (pip), for tokenizer_forms_test.cpp.

    bpe_forms.py FOLDER TEXT     trains on TEXT: FOLDER/llama3.json, qwen2.json, ...

FOLDER/unordered has the characters that its tables do not order as Unicode's form C does today:
they are newer than the tables.
"""
import json
import sys
import unicodedata

from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers,
                        processors, trainers)

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
          r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")


def split_by(pattern):
    return pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(pattern), behavior="isolated", invert=False),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def byte_level(cut, normalizer=None):
    tokenizer = Tokenizer(models.BPE(fuse_unk=False, byte_fallback=False))
    tokenizer.pre_tokenizer = cut
    tokenizer.normalizer = normalizer
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer, pre_tokenizers.ByteLevel.alphabet()


def characters(front, by_normalizer):
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    if by_normalizer:
        tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"),
                                                     normalizers.Replace(" ", "▁")])
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme=front,
                                                           split=False)
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    if front != "never":
        steps.append(decoders.Strip(content=" ", left=1))
    tokenizer.decoder = decoders.Sequence(steps)
    return tokenizer, []


FORMS = {
    "llama3": lambda: byte_level(split_by(LLAMA3)),
    "qwen2": lambda: byte_level(split_by(QWEN2), normalizers.NFC()),
    "smollm": lambda: byte_level(pre_tokenizers.Sequence([
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)])),
    "llama2": lambda: characters("always", True),
    "metaspace-always": lambda: characters("always", False),
    "metaspace-first": lambda: characters("first", False),
    "metaspace-never": lambda: characters("never", False),
}


def train(name, text):
    tokenizer, alphabet = FORMS[name]()
    special = ["<unk>", "<s>", "</s>"]
    if not alphabet:
        special += [f"<0x{byte:02X}>" for byte in range(256)]
    trainer = trainers.BpeTrainer(vocab_size=1500, special_tokens=special, show_progress=False,
                                  initial_alphabet=alphabet, limit_alphabet=300)
    tokenizer.train_from_iterator([line for line in text.split("\n")], trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 1)])
    if alphabet:
        tokenizer.post_processor = processors.Sequence([
            processors.ByteLevel(trim_offsets=False), tokenizer.post_processor])
    return json.loads(tokenizer.to_str())


def unordered():
    last = "\u0345"  # behind all others
    mine = normalizers.NFC()
    marks = [chr(c) for c in range(0x110000) if 0 < unicodedata.combining(chr(c)) < 240]
    return [c for c in marks
            if mine.normalize_str("a" + last + c) != unicodedata.normalize("NFC", "a" + last + c)]


def main(folder, text):
    with open(f"{folder}/unordered", "w", encoding="utf-8") as file:
        file.write("\n".join(unordered()))
    with open(text, encoding="utf-8") as file:
        text = file.read()
    for name in FORMS:
        form = train(name, text)
        # As published: bytes are no special tokens, and are not found as such in a text.
        form["added_tokens"] = [token for token in form["added_tokens"]
                                if not token["content"].startswith("<0x")]
        with open(f"{folder}/{name}.json", "w", encoding="utf-8") as file:
            json.dump(form, file, ensure_ascii=False)
        tokenizer = Tokenizer.from_file(f"{folder}/{name}.json")
        tokenizer.add_special_tokens([AddedToken("<|end|>", normalized=False)])
        if name != "llama2":
            tokenizer.add_tokens([AddedToken("e\u0301e", normalized=True)])
        tokenizer.save(f"{folder}/{name}.json")


main(*sys.argv[1:])
