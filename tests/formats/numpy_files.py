"""What numpy reads of ours, and what it writes for us.

    numpy_files.py FOLDER

FOLDER/ours-<type>-<sizes>.npy has to hold 0, 1, 2, ... in that type and shape (such as f4-2x3), and
so does every array of FOLDER/ours.npz, which is named <type>-<sizes>. Writes theirs-*.npy the same,
also in Fortran's order and format 2.0, and theirs.npz, packed.npz, and names.npz, whose names are
not ASCII; and refused-*.npy, what a reader of plain numbers cannot take.
"""
import os
import sys

import numpy

TYPES = ("f8", "f4", "f2", "i8", "i4", "u1", "b1")
SHAPES = ("", "0", "1", "5", "2x3", "2x0x3", "2x3x4")


def expected(name):
    dtype, sizes = name.split("-")[:2]
    shape = tuple(int(size) for size in sizes.split("x")) if sizes else ()
    values = numpy.arange(numpy.prod(shape, dtype=int)).reshape(shape)
    return (values % 2 if dtype == "b1" else values).astype(dtype)


def check(name, array):
    wanted = expected(name)
    same = array.dtype == wanted.dtype and array.shape == wanted.shape
    if not same or not numpy.array_equal(array, wanted):
        sys.exit(f"{name} is not what it should be: {array.dtype} {array.shape} {array}")


def main():
    folder = sys.argv[1]
    path = lambda name: os.path.join(folder, name)
    names = [f"{dtype}-{sizes}" for dtype in TYPES for sizes in SHAPES]
    for name in names:
        array = numpy.load(path(f"ours-{name}.npy"), allow_pickle=False)
        check(name, array)
        with open(path(f"ours-{name}.npy"), "rb") as file:
            data = file.read()
        if (len(data) - array.nbytes) % 64 != 0:
            sys.exit(f"{name}: the data does not lie on a boundary of 64")
    with numpy.load(path("ours.npz"), allow_pickle=False) as archive:
        if sorted(archive.files) != sorted(names):
            sys.exit(f"ours.npz has {archive.files}")
        for name in names:
            check(name, archive[name])

    arrays = {name: expected(name) for name in names}
    for name, array in arrays.items():
        numpy.save(path(f"theirs-{name}.npy"), array)
        numpy.save(path(f"theirs-{name}-F.npy"), numpy.array(array, order="F"))
        with open(path(f"theirs-{name}-v2.npy"), "wb") as file:
            numpy.lib.format.write_array(file, array, version=(2, 0))
    numpy.savez(path("theirs.npz"), **arrays)
    numpy.savez_compressed(path("packed.npz"), **arrays)
    numpy.savez(path("names.npz"), **{"größe": expected("f4-5"), "大きさ": expected("f4-5")})
    refused = {"big": numpy.ones(3, ">f4"), "i1": numpy.ones(3, "i1"), "c8": numpy.ones(3, "c8"),
               "text": numpy.array(["a"]), "record": numpy.zeros(2, [("a", "f4"), ("b", "i4")]),
               "object": numpy.array([None], dtype=object), "deep": numpy.zeros((1,) * 9)}
    for name, array in refused.items():
        numpy.save(path(f"refused-{name}.npy"), array)


main()
