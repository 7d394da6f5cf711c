"""Arrays of somebody else's, in NumPy's ``.npy`` format 1.0: numbers only, and nothing that the file does not hold."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import IO

import numpy as np

KINDS = "fiub"  # floating, integers, booleans


def read_header(stream: IO[bytes]) -> tuple[tuple[int, ...], np.dtype]:
    """Shape and type of the array whose values come next. Raises ValueError for whatever is no such header: NumPy reads
    it as Python source, which fails in ways of its own (TokenError, MemoryError, RecursionError and more)."""
    try:
        if np.lib.format.read_magic(stream) != (1, 0):
            raise ValueError("is not in format 1.0")
        shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
    except OSError:
        raise
    except Exception as error:
        raise ValueError(f"has no readable header ({type(error).__name__})") from None
    if dtype.kind not in KINDS or any(type(side) is not int or side < 0 for side in shape):
        raise ValueError(f"holds {dtype} {shape}, not numbers")
    return shape, dtype


def read(file: IO[bytes]) -> np.ndarray:
    """The array that a file holds from its start to its end. Raises ValueError when it is none or does not hold what it
    declares, and OSError."""
    held = file.seek(0, os.SEEK_END)
    file.seek(0)
    shape, dtype = read_header(file)
    declared = math.prod(shape) * dtype.itemsize
    if declared != held - file.tell():
        raise ValueError(f"declares {declared} bytes of values and holds {held - file.tell()}")
    file.seek(0)
    return np.asarray(np.load(file, allow_pickle=False))


def load(path: Path) -> np.ndarray:
    """The array of the file at ``path``, as :func:`read`."""
    with path.open("rb") as file:
        return read(file)
