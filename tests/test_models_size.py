"""An answer of any size, packed or not, costs bounded memory and is the provider's fault where it is too long."""

from __future__ import annotations

import gzip
import json
import tracemalloc
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from model_server import Answer, ModelServer, say
from model_session import ask, client, fault

from manifests.calls import AnswerBytes
from runner.models.inflate import BadCoding, Body, TooLong
from runner.models.library import library
from runner.models.tap import Tap

MOST = AnswerBytes(whole=100_000, streamed=300_000)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    library().get()
    monkeypatch.setattr(Tap, "answers", MOST)


def packed(answer: Answer, coding: str = "gzip") -> Answer:
    pack = gzip.compress if coding == "gzip" else zlib.compress
    return Answer(pack(json.dumps(answer.body).encode()), answer.status, {"Content-Encoding": coding})


@pytest.mark.parametrize("status", [200, 500])
@pytest.mark.parametrize("pack", [False, True], ids=["plain", "packed"])
def test_an_answer_that_is_too_long_is_named_and_not_asked_for_again(pack: bool, status: int) -> None:
    long = say("x" * 200_000, status=status)
    with ModelServer([packed(long) if pack else long]) as server:
        asked = client(server)
        found = fault(asked)
        assert len(server.calls) == 1
    assert (found.cause, found.evidence["transport"]) == ("provider_fault", "AnswerTooLong")
    assert "the provider's answer is over" in found.text
    assert asked.usage.tokens_output == 0
    assert (asked.usage.tokens_input or 0) < 100
    assert asked.usage.estimated


def test_a_stream_has_a_limit_of_its_own() -> None:
    with ModelServer([say("x" * 150_000), say("x" * 400_000)]) as server:
        asked = client(server, stream=True)
        assert len(ask(asked).text) == 150_000
        assert fault(asked).evidence["transport"] == "AnswerTooLong"


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_a_packed_answer_is_read(coding: str) -> None:
    with ModelServer([packed(say("hello"), coding)]) as server:
        assert ask(client(server)).text == "hello"
        assert server.calls[0].headers["accept-encoding"] == "gzip"


@pytest.mark.parametrize(
    "answer",
    [
        Answer(b"\x0b\x02\x80hello\x03", 200, {"Content-Encoding": "br"}),
        Answer(b"not packed", 200, {"Content-Encoding": "gzip"}),
        Answer(gzip.compress(b"{}" * 500)[:-12], 200, {"Content-Encoding": "gzip"}),
    ],
    ids=["another", "none", "cut"],
)
def test_an_answer_in_a_coding_that_cannot_be_read_is_the_providers_fault(answer: Answer) -> None:
    with ModelServer([answer]) as server:
        found = fault(client(server))
    assert (found.cause, found.evidence["transport"]) == ("provider_fault", "BadContentEncoding")


def test_what_unpacks_to_a_hundred_megabytes_is_not_unpacked() -> None:
    bomb = gzip.compress(b"\0" * 100_000_000, 1)
    tracemalloc.start()
    with pytest.raises(TooLong):
        Body("gzip", 1_000_000).take(bomb)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 10_000_000


@given(st.lists(st.binary(max_size=300), max_size=8), st.sampled_from(["", "identity", "gzip"]), st.integers(0, 2000))
def test_a_body_in_parts_is_the_body_as_long_as_it_fits(parts: list[bytes], coding: str, most: int) -> None:
    whole = b"".join(parts)
    if coding == "gzip":
        sent = gzip.compress(whole)
        parts = [sent[start : start + 7] for start in range(0, len(sent), 7)]
    body = Body(coding, most)
    if len(whole) > most:
        with pytest.raises(TooLong):
            [body.take(part) for part in parts]
    else:
        assert b"".join(body.take(part) for part in parts) == whole
        assert body.whole


def test_another_coding_is_refused_before_a_byte_is_read() -> None:
    with pytest.raises(BadCoding):
        Body("zstd", 10)
