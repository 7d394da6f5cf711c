"""Frames: what goes in comes out, and nothing that a peer sends does more than close its own stream."""

from __future__ import annotations

import io
import json
import re
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from images.client.wire import (
    DTYPES,
    MAX_HEADER,
    FrameBuffer,
    FrameError,
    FrameTemplate,
    StreamError,
    encode,
    encode_reply,
    read_frame,
)

PROTOCOL_PAGE = Path(__file__).parent.parent / "docs" / "protocol.md"

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
headers = st.dictionaries(st.text().filter(lambda key: key != "attachments"), json_values, max_size=5)
arrays = st.sampled_from(DTYPES).flatmap(
    lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
)
attachments = st.dictionaries(st.text(), st.binary(max_size=50) | arrays, max_size=4)


def reader(data: bytes):
    stream = io.BytesIO(data)

    def read(size: int) -> bytes:
        found = stream.read(size)
        if len(found) < size:
            raise EOFError
        return found

    return read


@given(headers, attachments, st.data())
def test_a_frame_comes_out_as_it_went_in_however_it_is_cut(header, parts, data):
    frame = encode(header, parts)
    buffer, start = FrameBuffer(), 0
    result = None
    while start < len(frame):
        size = data.draw(st.integers(1, len(frame)))
        assert result is None
        buffer.feed(frame[start : start + size])
        start += size
        result = buffer.next()
    assert result is not None
    for decoded, values in (result, read_frame(reader(frame))):
        assert decoded == json.loads(json.dumps(header))
        assert values.keys() == parts.keys()
        for name, value in parts.items():
            if isinstance(value, np.ndarray):
                assert values[name].dtype == value.dtype
                assert values[name].shape == value.shape
                np.testing.assert_array_equal(values[name], value)
            else:
                assert values[name] == value


def test_arrays_of_the_other_byte_order_and_not_contiguous_keep_their_values():
    values = np.arange(12, dtype=">f8").reshape(3, 4)[:, ::2]
    _, parts = read_frame(reader(encode({}, {"x": values})))
    np.testing.assert_array_equal(parts["x"], values)


@pytest.mark.parametrize(
    ("header", "parts", "text"),
    [
        ({"x": float("nan")}, {}, "not JSON compliant"),
        ({}, {"x": np.zeros(2, dtype=np.complex128)}, "attachment x: dtype complex128"),
        ({"x": "y" * MAX_HEADER}, {}, "over the limit"),
        ({}, {str(i): b"" for i in range(257)}, "257 attachments"),
    ],
)
def test_what_cannot_be_a_frame_is_refused_when_it_is_made(header, parts, text):
    with pytest.raises(ValueError, match=text):
        encode(header, parts)


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"1", b"\xff", b'{"x": NaN}', b'{"x": Infinity}', b"[" * 100_000])
def test_a_header_that_is_not_an_object_leaves_the_stream_in_step(text):
    buffer = FrameBuffer()
    buffer.feed(struct.pack(">I", len(text)) + text + encode({"next": 1}))
    with pytest.raises(FrameError):
        buffer.next()
    assert buffer.next() == ({"next": 1}, {})


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (b'{"op": "step", "op": "finish"}', "op"),
        (b'{"id": 1, "v": 1, "op": "step", "id": 2}', "id"),
        (b'{"id":7,"op":"observe","fields":[{"a":1,"\\u0061":2}]}', "a"),
    ],
)
def test_a_key_that_stands_twice_is_refused_and_leaves_the_stream_in_step(text: bytes, key: str) -> None:
    buffer = FrameBuffer()
    for _ in range(3):  # also a header that repeats
        buffer.feed(struct.pack(">I", len(text)) + text + encode({"next": 1}))
        with pytest.raises(
            FrameError, match=rf"^frame header is not JSON: the key '{key}' stands twice in one object$"
        ):
            buffer.next()
        assert buffer.next() == ({"next": 1}, {})


def test_attachments_of_a_header_with_a_key_twice_cannot_be_skipped() -> None:
    declared = '"attachments": [{"name": "a", "kind": "bytes", "size": %d}]'
    text = f'{{"op": "step", {declared % 3}, {declared % 5}}}'.encode()
    buffer = FrameBuffer()
    buffer.feed(struct.pack(">I", len(text)) + text + b"12345")
    with pytest.raises(StreamError, match="the key 'attachments' stands twice"):
        buffer.next()


@pytest.mark.parametrize(
    "declared",
    [
        {"a": 1},
        "x",
        [1],
        [{"name": "a", "kind": "bytes"}],
        [{"name": "a", "kind": "bytes", "size": -1}],
        [{"name": "a", "kind": "bytes", "size": True}],
        [{"name": "a", "kind": "bytes", "size": 1 << 40}],
        [{"name": 1, "kind": "bytes", "size": 0}],
        [{"name": "a", "kind": "array", "dtype": "object", "shape": [1], "size": 8}],
        [{"name": "a", "kind": "array", "dtype": ["float64"], "shape": [1], "size": 8}],
        [{"name": "a", "kind": "array", "dtype": "float64", "shape": [2], "size": 8}],
        [{"name": "a", "kind": "array", "dtype": "float64", "shape": [-1, -1], "size": 8}],
        [{"name": "a", "kind": "array", "dtype": "float64", "shape": [1] * 9, "size": 8}],
        [{"name": "a", "kind": "array", "dtype": "float64", "shape": 1, "size": 8}],
        [{"name": "a", "kind": "bytes", "size": 0}] * 2,
        [{"name": str(i), "kind": "bytes", "size": 0} for i in range(257)],
        [{"name": "a", "kind": "bytes", "size": json.loads("[" * 900 + "]" * 900)}],
    ],
)
def test_attachments_that_do_not_add_up_end_the_stream(declared):
    text = json.dumps({"attachments": declared}).encode()
    with pytest.raises(StreamError):
        read_frame(reader(struct.pack(">I", len(text)) + text + bytes(100)))


def test_limits_are_those_of_the_reader():
    frame = encode({"x": "y" * 100}, {"a": bytes(1000)})
    for limits in ((50, 10_000), (1000, 999)):
        buffer = FrameBuffer(*limits)
        buffer.feed(frame)
        with pytest.raises(StreamError):
            buffer.next()


@given(st.binary(max_size=300))
def test_random_bytes_raise_nothing_but_the_two_errors(data):
    buffer = FrameBuffer(1000, 1000)
    buffer.feed(data)
    try:
        for _ in range(100):
            try:
                if buffer.next() is None:
                    break
            except FrameError:
                continue
    except StreamError:
        pass


def test_the_example_of_the_protocol_page_is_the_frame_that_it_says():
    page = PROTOCOL_PAGE.read_text(encoding="utf-8")
    (digits,) = re.findall(r"```hex request\n(.*?)```", page, flags=re.DOTALL)
    (text,) = re.findall(r"```json request\n(.*?)\n```", page, flags=re.DOTALL)
    request = {"v": 1, "id": 7, "op": "step", "fields": ["speed"]}
    frame = encode(request, {"actions": np.array([[0.5, -0.25]])})
    assert bytes.fromhex(digits) == frame
    assert frame[4 : 4 + len(text)] == text.encode()
    assert struct.unpack(">I", frame[:4]) == (len(text),)
    assert f"0x{len(text):x} = {len(text)}" in page


@pytest.mark.parametrize("shape", [[2**62, 0], [2**63, 0], [10**30, 0], [2**31, 2**31, 0], [2**26, 2**26, 0, 2**26]])
def test_a_huge_size_beside_a_zero_is_a_stream_error_and_nothing_else(shape: list[int]) -> None:
    item = {"name": "actions", "kind": "array", "dtype": "float64", "shape": shape, "size": 0}
    raw = encode({"op": "step"})
    header = json.dumps({"op": "step", "attachments": [item]}).encode()
    stream = io.BytesIO(len(header).to_bytes(4, "big") + header + raw)
    with pytest.raises(StreamError, match="attachment 0"):
        read_frame(stream.read)


def test_an_empty_array_keeps_its_shape() -> None:
    _, attachments = read_frame(io.BytesIO(encode({"op": "x"}, {"a": np.zeros((0, 16))})).read)
    assert attachments["a"].shape == (0, 16)  # type: ignore[union-attr]


ODD = ['{"id": 3,"a":1}', '{"id":03,"a":1}', '{"id":-1,"a":1}', '{"id":1e3,"a":1}', '{"id":7}', '{"a":1,"id":7}', "[1]"]
RESTS = [
    ',"a":1}',
    ',"a":[1,2]}',
    ',"a":1,"id":5}',
    ',"a":1,"\\u0069d":6}',
    ',"id":null}',
    ',"a":1} ',
    ',"a":1}}',
    ',"a":}',
]


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from(RESTS)).map(lambda x: f'{{"id":{x[0]}{x[1]}')
                | st.sampled_from(ODD), max_size=12))  # fmt: skip
def test_a_header_that_repeats_but_for_its_id_is_read_like_any_other(texts):
    stream = FrameBuffer()
    for text in texts:
        data = struct.pack(">I", len(text)) + text.encode()
        try:
            expected = read_frame(io.BytesIO(data).read)
        except FrameError as error:
            stream.feed(data)
            with pytest.raises(FrameError, match=re.escape(str(error))):
                stream.next()
            continue
        stream.feed(data)
        assert stream.next() == expected


def test_an_array_of_a_repeated_header_is_its_own():
    stream, template = FrameBuffer(), FrameTemplate({"op": "step"}, "actions", np.zeros((1, 2)))
    values = [np.full((1, 2), float(number)) for number in range(5)]
    for identity, value in enumerate(values):
        stream.feed(template.encode(identity, value))
    frames = [stream.next() for _ in values]
    for identity, (value, frame) in enumerate(zip(values, frames, strict=True)):
        assert frame is not None
        assert frame[0] == {"id": identity, "op": "step"}
        np.testing.assert_array_equal(frame[1]["actions"], value)


@given(
    st.none() | st.integers(0, 2**53),
    st.dictionaries(st.text(max_size=5), st.none() | st.integers() | st.text(), min_size=1),
)
def test_a_reply_whose_members_are_written_is_the_encoded_one(identity, members):
    members.pop("id", None)
    members["ok"] = True
    text = json.dumps(members, separators=(",", ":"))[1:-1]
    assert encode_reply(identity, (text, {})) == encode_reply(identity, (members, {}))
