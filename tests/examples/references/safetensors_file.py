"""The safetensors format in numpy, written from its description: for a Python without the package.

    tensors = read("model.safetensors")          # name -> array
    write("model.safetensors", {"x": array})
"""
import json
import struct

import numpy

DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "U8": "|u1",
          "BOOL": "|b1"}
NAMES = {numpy.dtype(dtype): name for name, dtype in DTYPES.items()}


def read(path):
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = file.read()
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        array = numpy.frombuffer(data[begin:end], DTYPES[entry["dtype"]])
        tensors[name] = array.reshape(entry["shape"]).copy()
    return tensors


def write(path, tensors):
    header, data = {}, b""
    for name, array in tensors.items():
        array = numpy.asarray(array)
        begin = len(data)
        data += array.tobytes()
        header[name] = {"dtype": NAMES[array.dtype], "shape": list(array.shape),
                        "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)
