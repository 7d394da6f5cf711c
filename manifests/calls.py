"""Schema of ``model_calls.json``: how a model is called, what is tried again, and which fault an answer is."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from manifests.models import Name, Positive, PositiveFloat
from manifests.records import Strict

Lower = Annotated[str, Field(pattern=r"^[^A-Z]+$")]


class Retry(Strict):
    """Exponential waits with full jitter, for transport faults only. A provider's Retry-After is the least wait.

    ``total_s`` and ``tries`` bound one call. The total is far below the shortest wall-clock limit, so that
    an outage ends an attempt as the provider's fault and not as the model's time-out.
    """

    first_wait_s: PositiveFloat
    longest_wait_s: PositiveFloat
    total_s: PositiveFloat
    tries: Positive


class Timeouts(Strict):
    """Of one request, in seconds: until it is connected, and until the whole answer is there."""

    connect_s: PositiveFloat
    answer_s: PositiveFloat


class AnswerBytes(Strict):
    """The longest answer that is taken, in bytes without transfer coding: one that comes ``whole``, and a ``streamed``
    one, in which each token has an event of its own. A longer one is given up while it is read: ``provider_fault``."""

    whole: Positive
    streamed: Positive


class Estimate(Strict):
    """How tokens are counted where the provider gives none. ``tokens_per_answer`` is reserved under a token rate before
    the answer's length is known."""

    bytes_per_token: PositiveFloat
    tokens_per_message: Positive
    tokens_per_picture: Positive
    tokens_per_answer: Positive


class FaultSignature(Strict):
    """One row of the ordered table of provider faults, for the HTTP ``statuses`` that it names.

    A row fits an error by one of its ``codes`` (a whole value under ``code``, ``type``, ``status`` or ``reason``), by a
    sentence that ``begins`` so (``{model}`` stands for the one asked for), or by ``words`` in it, all in lower case; a
    row with none of these fits every error.
    The first row that fits by a code decides, else the first one that fits otherwise: a sentence may quote what it is
    not about. Without a row it is ``provider_fault``, final.
    """

    cause: Name
    statuses: tuple[Annotated[int, Field(ge=200, le=599)], ...]
    codes: tuple[Lower, ...] = ()
    begins: tuple[Lower, ...] = ()
    words: tuple[Lower, ...] = ()
    retry: bool


class ModelCalls(Strict):
    """Everything that a model call does beyond the request itself.

    ``rate_window_s``: no window of this length holds more than the declared rate. ``tolerated_in_a_row``: how many
    replies with such a slip in a row an agent answers with an error before the slip ends the attempt.
    """

    retry: Retry
    timeouts: Timeouts
    answer_bytes: AnswerBytes
    rate_window_s: PositiveFloat
    estimate: Estimate
    tolerated_in_a_row: dict[str, Annotated[int, Field(ge=0, le=100)]]
    faults: tuple[FaultSignature, ...]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for number, row in enumerate(self.faults):
            if row.retry and row.cause != "provider_fault":
                raise ValueError(f"faults[{number}].retry: only provider_fault is tried again, not {row.cause}")
        return self
