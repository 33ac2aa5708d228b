"""Byte pair encoding by tokenizers and tiktoken (pip), for data_bpe_test.cpp to compare with.

  bpe_reference.py train TEXT FOLDER      trains a small vocabulary: vocab.json, merges.txt
  bpe_reference.py characters TEXTS       texts with every character that Unicode has assigned
  bpe_reference.py LIBRARY FOLDER TEXTS IDS   encodes; LIBRARY is tokenizers or tiktoken

A file of texts holds, for each, the number of its bytes in 32 bits, little-endian, and its UTF-8; a
file of ids the same with ids of 32 bits.
"""
import os
import struct
import sys
import unicodedata

GPT2 = r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""


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


def encoder(library, folder):
    vocabulary, merges = os.path.join(folder, "vocab.json"), os.path.join(folder, "merges.txt")
    if library == "tokenizers":
        from tokenizers import Tokenizer, models, pre_tokenizers

        tokenizer = Tokenizer(models.BPE.from_file(vocabulary, merges))
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        return lambda text: tokenizer.encode(text, add_special_tokens=False).ids
    os.environ["TIKTOKEN_CACHE_DIR"] = ""  # its names are paths, which others may have used
    import tiktoken
    from tiktoken.load import data_gym_to_mergeable_bpe_ranks

    ranks = data_gym_to_mergeable_bpe_ranks(merges, vocabulary)
    encoding = tiktoken.Encoding("gpt2", pat_str=GPT2, mergeable_ranks=ranks, special_tokens={})
    return encoding.encode_ordinary


def train(text, folder):
    from tokenizers import ByteLevelBPETokenizer

    tokenizer = ByteLevelBPETokenizer()
    tokenizer.train([text], vocab_size=1000, special_tokens=["<|endoftext|>"], show_progress=False)
    tokenizer.save_model(folder)


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
        folder, texts, ids = arguments
        encode = encoder(command, folder)
        rows = [encode(text) for text in read_texts(texts)]
        with open(ids, "wb") as file:
            for row in rows:
                file.write(struct.pack(f"<{len(row) + 1}I", len(row), *row))


main(*sys.argv[1:])
