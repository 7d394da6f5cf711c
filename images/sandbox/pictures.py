"""Pictures that a program asks to have shown to the model: ``show(image)``.

They leave with the result of the code that showed them, also when that code failed afterwards.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable
from typing import Any

MAX_PICTURES = 8  # of one piece of code
MAX_SIDE = 1024  # pixels
MAX_BYTES = 4 << 20  # one PNG; noise of the largest size takes 3.2 MB

_emit: Callable[[bytes], None] | None = None


def show(image: Any) -> None:
    """Show a picture to the model: a PIL image or a uint8 array (height, width, 3) or (height, width).

    Raises ValueError for something else, for more than 1024 pixels a side and for the ninth picture of one piece of
    code; RuntimeError outside the sandbox.
    """
    if _emit is None:
        raise RuntimeError("show() works only in the sandbox of an attempt")
    _emit(encode(image))


def encode(image: Any) -> bytes:
    """PNG, RGB with 8 bits. Raises ValueError.

    Level 1 and run lengths alone: made once, and for a rendered scene a tenth smaller than with all of deflate."""
    import numpy as np
    from PIL import Image

    if isinstance(image, np.ndarray):
        if image.dtype != np.uint8 or image.ndim not in (2, 3) or (image.ndim == 3 and image.shape[2] != 3):
            raise ValueError(f"show() got an array {image.dtype} {image.shape}; give uint8 (height, width, 3)")
        image = Image.fromarray(np.ascontiguousarray(image))
    if not isinstance(image, Image.Image):
        raise ValueError(f"show() got {type(image).__name__}; give a PIL image or a uint8 array (height, width, 3)")
    if not (0 < image.width <= MAX_SIDE and 0 < image.height <= MAX_SIDE):
        raise ValueError(
            f"show() got {image.width} x {image.height} pixels; a side has 1 to {MAX_SIDE}: resize the picture"
        )
    out = io.BytesIO()
    image.convert("RGB").save(out, "PNG", compress_level=1, compress_type=zlib.Z_RLE)
    return out.getvalue()


def set_emitter(emit: Callable[[bytes], None]) -> None:
    """Where pictures go; the worker sets it."""
    global _emit
    _emit = emit


class Shown:
    """The pictures of one job as the kernel collects them. The worker may forge its frames: the limits hold here."""

    def __init__(self) -> None:
        self.omitted = 0
        self._pictures: list[bytes] = []

    def add(self, picture: Any) -> None:
        if isinstance(picture, bytes) and len(self._pictures) < MAX_PICTURES and len(picture) <= MAX_BYTES:
            self._pictures.append(picture)
        else:
            self.omitted += 1

    def attachments(self) -> dict[str, bytes]:
        """``picture/0``, ``picture/1``, ... in the order in which they were shown."""
        return {f"picture/{index}": picture for index, picture in enumerate(self._pictures)}
