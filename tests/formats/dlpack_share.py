"""numpy and PyTorch see the memory of a tensor of ours, and we see theirs.

    dlpack_share.py build/bin/dlpack_probe.so
"""
import ctypes
import gc
import sys

import numpy
import torch

# PyDLL keeps the interpreter's lock: deleters of others need it.
probe = ctypes.PyDLL(sys.argv[1])
probe.probe_give.restype = ctypes.c_void_p
probe.probe_take.argtypes = [ctypes.c_void_p]
probe.probe_take.restype = probe.probe_value.restype = ctypes.c_double

NAME, USED = b"dltensor_versioned", b"used_dltensor_versioned"  # kept: a capsule holds the pointer
api = ctypes.pythonapi
api.PyCapsule_New.restype = ctypes.py_object
api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
api.PyCapsule_GetPointer.restype = ctypes.c_void_p
api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]


class Ours:
    def __dlpack__(self, **_):
        return api.PyCapsule_New(probe.probe_give(), NAME, None)

    def __dlpack_device__(self):
        return (1, 0)


def take(array):
    capsule = array.__dlpack__(max_version=(1, 0))
    total = probe.probe_take(api.PyCapsule_GetPointer(capsule, NAME))
    if total != -1:
        api.PyCapsule_SetName(capsule, USED)
    return total


def expect(ok, what):
    if not ok:
        sys.exit(f"dlpack_share: {what}")


for number, module in enumerate((numpy, torch)):
    name = module.__name__
    x = module.from_dlpack(Ours())
    expect(probe.probe_holders() == 2, f"{name} does not hold our memory")
    expect(tuple(x.shape) == (2, 3) and float(x[1, 2]) == 5, f"{name} sees {x}")
    x[0, 0] = 7 + number
    expect(probe.probe_value(0) == 7 + number, f"what {name} writes is not seen")
    del x
    gc.collect()
    expect(probe.probe_holders() == 1, f"{name} does not let go of our memory")

for array in (numpy.arange(12, dtype=numpy.float64).reshape(3, 4)[:, 1:3],
              torch.arange(12, dtype=torch.bfloat16).reshape(3, 4)[:, 1:3]):
    wanted = float(array.sum())
    expect(take(array) == wanted, f"the sum of {array} is not {wanted}")
    probe.probe_let_go()
expect(take(numpy.arange(3)[::-1]) == -1, "a stride below 0 is not refused")
locked = numpy.arange(4.0)
locked.flags.writeable = False
expect(take(locked) == 6, "what may only be read is not copied")
array = numpy.arange(5.0)
before = sys.getrefcount(array)
expect(take(array) == 10 and sys.getrefcount(array) > before, "we do not hold their memory")
probe.probe_let_go()
expect(sys.getrefcount(array) == before, "we do not let go of their memory")
