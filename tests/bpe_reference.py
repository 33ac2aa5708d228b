"""Byte pair encoding by tokenizers (pip), for data_bpe_test.cpp to compare with.

  bpe_reference.py train TEXT FOLDER      trains a small vocabulary: vocab.json, merges.txt, and the
                                          same with added tokens: tokenizer.json; where merges are
                                          missing, but not the tokens that they make: ignoring.json
  bpe_reference.py characters TEXTS       texts with every character that Unicode has assigned
  bpe_reference.py encode PATH TEXTS IDS  encodes; PATH is a folder, or a tokenizer.json

A file of texts holds, for each, the number of its bytes in 32 bits, little-endian, and its UTF-8; a
file of ids the same with ids of 32 bits.
"""
import json
import os
import struct
import sys
import unicodedata


def read_texts(path):
    data, texts, at = open(path, "rb").read(), [], 0
    while at < len(data):
        (size,) = struct.unpack_from("<I", data, at)
        texts.append(data[at + 4 : at + 4 + size].decode())
        at += 4 + size
    return texts


def write_records(path, records):
    with open(path, "wb") as file:
        for record in records:
            file.write(struct.pack("<I", len(record)) + record)


def encoder(path):
    from tokenizers import Tokenizer, models, pre_tokenizers

    if path.endswith(".json"):
        tokenizer = Tokenizer.from_file(path)
    else:
        vocabulary, merges = os.path.join(path, "vocab.json"), os.path.join(path, "merges.txt")
        tokenizer = Tokenizer(models.BPE.from_file(vocabulary, merges))
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return lambda text: tokenizer.encode(text).ids


def train(text, folder):
    from tokenizers import AddedToken, ByteLevelBPETokenizer

    tokenizer = ByteLevelBPETokenizer()
    tokenizer.train([text], vocab_size=1000, special_tokens=["<|endoftext|>"], show_progress=False)
    tokenizer.save_model(folder)
    raw = ["zz", "12", "<|endoftext|>!"]
    normalized = ["zzz", "the", "  ", "naïve", "日本", "日本\u0301", "😀", "TheThe", "The"]
    tokenizer.add_special_tokens([AddedToken(token, normalized=False) for token in raw])
    tokenizer.add_tokens([AddedToken(token, normalized=True) for token in normalized])
    tokenizer.save(os.path.join(folder, "tokenizer.json"))
    with open(os.path.join(folder, "tokenizer.json"), encoding="utf-8") as file:
        whole = json.load(file)
    whole["model"]["ignore_merges"] = True
    whole["model"]["merges"] = [m for i, m in enumerate(whole["model"]["merges"]) if i % 5 != 0]
    with open(os.path.join(folder, "ignoring.json"), "w", encoding="utf-8") as file:
        json.dump(whole, file)


def characters(path):
    everything = [chr(c) for c in range(0x110000)]
    assigned = [c for c in everything if unicodedata.category(c) not in ("Cn", "Cs", "Co")]
    texts = []
    for i in range(0, len(assigned), 64):
        some = assigned[i : i + 64]
        texts += ["".join(some), "a".join(some), " ".join(some), "1".join(some), "'s\n".join(some)]
    write_records(path, [text.encode() for text in texts])


def main(command, *arguments):
    if command == "train":
        train(*arguments)
    elif command == "characters":
        characters(*arguments)
    else:
        path, texts, ids = arguments
        encode = encoder(path)
        rows = [encode(text) for text in read_texts(texts)]
        with open(ids, "wb") as file:
            for row in rows:
                file.write(struct.pack(f"<{len(row) + 1}I", len(row), *row))


main(*sys.argv[1:])
