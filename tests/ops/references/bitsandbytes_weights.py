"""What bitsandbytes makes of weights, on a CPU.

    bitsandbytes_weights.py FOLDER

FOLDER/ours.npz has for each case NAME the weight NAME.w and the input NAME.x. Writes theirs.npz:
NAME.int8.* and NAME.nf4.* with codes, scales, block_scales, offset as ops/quantise names them, the
values that they stand for, and the product y of x with them.
"""
import os
import sys

import bitsandbytes
import numpy
import torch
from bitsandbytes import functional
from bitsandbytes.backends.default.ops import _dequantize_4bit_compute


def int8(w, x):
    codes, scales, _ = torch.ops.bitsandbytes.int8_vectorwise_quant(w.clone())
    codes = torch.where(scales[:, None] == 0, 0, codes)  # 0 divided by 0
    values = torch.ops.bitsandbytes.int8_vectorwise_dequant(codes, scales)
    state = bitsandbytes.MatmulLtState()
    state.CB, state.SCB, state.has_fp16_weights = codes, scales, False
    y = bitsandbytes.matmul(x, codes, state=state)
    return {"codes": codes.view(torch.uint8), "scales": scales, "values": values, "y": y}


def nf4(w, x):
    codes, state = functional.quantize_4bit(w, compress_statistics=True, quant_type="nf4")
    # By its plain loops: its kernel for AVX-512 takes scales of other blocks where rows are no
    # whole number of blocks.
    scales = functional.dequantize_blockwise(state.absmax, state.state2) + state.offset
    values = _dequantize_4bit_compute(codes.flatten(), scales, state.code, 64, w.shape,
                                      torch.float32)
    return {"codes": codes.flatten(), "scales": state.absmax, "block_scales": state.state2.absmax,
            "offset": state.offset, "values": values,
            "y": bitsandbytes.matmul_4bit(x, codes.t(), state) if w.shape[1] % 64 == 0
            else torch.nn.functional.linear(x, values)}


def main():
    folder = sys.argv[1]
    results = {"code.signed": functional.create_dynamic_map(signed=True).numpy(),
               "code.unsigned": functional.create_dynamic_map(signed=False).numpy()}
    with numpy.load(os.path.join(folder, "ours.npz"), allow_pickle=False) as ours:
        for name in sorted({key.split(".")[0] for key in ours.files}):
            w, x = torch.from_numpy(ours[f"{name}.w"]), torch.from_numpy(ours[f"{name}.x"])
            for kind, quantise in (("int8", int8), ("nf4", nf4)):
                for part, value in quantise(w, x).items():
                    results[f"{name}.{kind}.{part}"] = value.contiguous().numpy()
    numpy.savez(os.path.join(folder, "theirs.npz"), **results)


main()
