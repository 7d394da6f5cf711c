"""What a killed attempt used is read from its transcript: nothing that was spent is lost, nothing unknown is zero."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from agents_model import transcript
from model_server import ModelServer, say
from slider_runtime import Scripted, evaluation
from test_agents_provider import FINISH, MOVE, play

from manifests.load import load
from manifests.records import AttemptRecord, Usage
from runner.agents.recovered import usage_of
from runner.errors import RunStopped
from runner.models.usage import estimate_input
from runner.store.text import canonical

MODEL = "openai/gpt-4o"
EACH = (120 * 2.5 + 30 * 10) / 1e6  # US dollars of model_server.USAGE by the locked price table
ZERO = Usage(tokens_input=0, tokens_cached=0, tokens_output=0, cost_usd=0.0)


@pytest.fixture(scope="module")
def entries(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    home = tmp_path_factory.mktemp("home")
    picture = say(None, [("observe", json.dumps({"pictures": [{"camera": "side", "width": 64}]}))])
    with ModelServer([MOVE, picture, FINISH]) as server:
        record, _ = play(home, server, name=MODEL)
    assert record.usage.model_calls == 3
    found = transcript(home / "test" / record.attempt)
    assert usage_of(home / "test" / record.attempt / "transcript.jsonl", MODEL) == record.usage
    return found


def written(folder: Path, entries: list[Any], torn: bytes = b"") -> Path:
    path = folder / "transcript.jsonl"
    path.write_bytes(b"".join(canonical(entry) + b"\n" for entry in entries) + torn)
    return path


def test_a_request_that_nothing_answered_counts_with_its_prompt_by_estimate(tmp_path: Path, entries: list[Any]) -> None:
    requests = [number for number, entry in enumerate(entries) if entry["kind"] == "request"]
    found = [usage_of(written(tmp_path, entries[: number + 1]), MODEL) for number in requests]
    assert [usage.model_calls for usage in found] == [1, 2, 3]
    assert [usage.tokens_output for usage in found] == [0, 30, 60]
    assert [usage.images_sent for usage in found] == [0, 0, 1]
    assert all(usage.estimated and usage.tokens_cached is None for usage in found)
    begun = entries[: requests[0]]
    prompt = estimate_input([entry["message"] for entry in begun[1:]], begun[0]["tools"], load().model_calls.estimate)
    assert found[0].tokens_input == prompt > 500
    assert found[0].cost_usd == pytest.approx(prompt * 2.5 / 1e6)
    assert found[1].cost_usd > EACH + found[0].cost_usd


def test_between_two_requests_everything_is_known(tmp_path: Path, entries: list[Any]) -> None:
    reply = next(number for number, entry in enumerate(entries) if entry["kind"] == "reply")
    for more in (1, 2, 3):  # tool result and so on; the second request is not out
        if entries[reply + more - 1]["kind"] == "request":
            break
        usage = usage_of(written(tmp_path, entries[: reply + more], torn=b'{"kind": "repl'), MODEL)
        assert (usage.tokens_input, usage.tokens_output, usage.model_calls, usage.estimated) == (120, 30, 1, False)
        assert usage.cost_usd == pytest.approx(EACH)


def test_what_a_transcript_does_not_say_is_unknown(tmp_path: Path, entries: list[Any]) -> None:
    assert usage_of(tmp_path / "none.jsonl", MODEL) == ZERO  # nothing was asked
    assert usage_of(written(tmp_path, [], torn=b"{"), MODEL) == ZERO
    silent = [{name: value for name, value in entry.items() if name != "usage"} for entry in entries]
    last = max(number for number, entry in enumerate(silent) if entry["kind"] == "request")
    usage = usage_of(written(tmp_path, silent[: last + 1]), MODEL)
    assert (usage.tokens_input, usage.tokens_output, usage.cost_usd, usage.model_calls) == (None, None, None, 3)
    first = next(number for number, entry in enumerate(entries) if entry["kind"] == "request")
    assert usage_of(written(tmp_path, entries[: first + 1]), "openai/private").cost_usd is None


def test_an_attempt_that_was_killed_is_closed_with_what_it_spent_and_counts_against_the_limit(
    tmp_path: Path, entries: list[Any]
) -> None:
    agent = Scripted(lambda context: None)
    agent.info = replace(agent.info, kind="model", model=MODEL)
    options: dict[str, Any] = {"parameters": [{}, {}], "protocol": "single", "max_cost_usd": EACH}
    made = evaluation(tmp_path, agent, **options)
    run = made._run(None, made.make_runtime())
    attempt = made.store.open_attempt(run, made.planned[0].environment_id, 0, made.owner)
    made.store.begin_attempt(run, attempt.id)
    folder = made.store.attempt_folder(run, attempt.id)
    folder.start()
    last = max(number for number, entry in enumerate(entries) if entry["kind"] == "request")
    for entry in entries[: last + 1]:
        folder.append("transcript.jsonl", entry)
    made.store.close()

    again = evaluation(tmp_path, agent, **options)
    with pytest.raises(RunStopped, match=r"max-cost .*: \$0.0\d is spent, and no attempt is opened"):
        again.run()
    row = again.store.attempts(run)[0]
    record = AttemptRecord.model_validate_json(row.record or "")
    assert (record.cause, record.usage.model_calls, record.usage.images_sent) == ("interrupted", 3, 1)
    assert record.usage.estimated
    assert record.usage.tokens_output == 60
