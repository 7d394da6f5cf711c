"""Arrays from a stranger: whatever the bytes, a number array or one ValueError."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from manifests.arrays import load, read


def npy(header: str, values: bytes = b"") -> bytes:
    text = header.encode("latin-1")
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + values


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\x93NUMPY",
        npy("{'descr': '<f8', 'fortran_order': False, 'shape': (3, "),
        npy("-" * 9000 + "1"),
        npy("(" * 9000),
        npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }\n", b"12345678"),
        npy("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }\n", b"12345678"),
        npy("{'descr': '<f8', 'fortran_order': False, 'shape': (True,), }\n", b"12345678"),
        npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n", b"12345678"),
        npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }\n", b"12345678more"),
        npy("{'descr': '<U2', 'fortran_order': False, 'shape': (1,), }\n", b"12345678"),
    ],
)
def test_bytes_that_are_no_array_of_numbers_are_refused_in_one_way(raw: bytes, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^(has no readable header|holds|declares) "):
        read(io.BytesIO(raw))
    (tmp_path / "a.npy").write_bytes(raw)
    with pytest.raises(ValueError, match=r"^(has no readable header|holds|declares) "):
        load(tmp_path / "a.npy")


@given(st.binary(max_size=200), st.booleans())
def test_no_bytes_raise_anything_else(raw: bytes, magic: bool) -> None:
    with contextlib.suppress(ValueError):
        read(io.BytesIO(npy("", raw) if magic else raw))


@given(
    st.sampled_from([np.float64, np.float32, np.int64, np.uint8, np.bool_]).flatmap(
        lambda dtype: arrays(dtype, array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4))
    )
)
def test_what_was_saved_is_read_again(array: np.ndarray) -> None:
    file = io.BytesIO()
    np.save(file, array)
    found = read(file)
    assert found.dtype == array.dtype
    assert np.array_equal(found, array, equal_nan=array.dtype.kind == "f")
