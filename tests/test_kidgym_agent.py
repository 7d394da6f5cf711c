"""The ``choice`` agent against a real scripted server: what arrives there in each setting, and what its replies do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kidgym_house import EXAMPLE, answers, course, evaluation, frames, last_text, pictures, seed_of
from model_server import Answer, ModelServer, Request, fault, say
from model_session import opened

from manifests.records import AttemptRecord
from runner.agents.base import Agent
from runner.agents.choice_record import KEPT, Steps
from runner.agents.conversation import requests
from runner.agents.factory import at_temperature, choice_agent
from runner.agents.pictures import blank_png, check_png
from runner.agents.registry import AgentRequest, Parameters, make_agent, preflight
from runner.errors import BadInput, RunStopped
from runner.store.store import Store

SETTINGS = ("zero-shot", "cot", "icl")
HOW = {
    "zero-shot": "{letter}",
    "cot": "The picture shows what the goal names.\n<answer>{letter}</answer>",
    "icl": "{letter}",
}
PLAYS = [("CL", 1), ("MMA", 1), ("PU", 2)]  # with and without memory, one step and several


def agent_of(server: ModelServer, setting: str = "zero-shot", **parameters: Any) -> Agent:
    request = AgentRequest(
        "openai/scripted",
        board="kidgym",
        setting=setting,
        parameters=Parameters(base_url=server.url, temperature=0.0, **parameters),
    )
    return choice_agent(request, opened(server, temperature=0.0))


def run(home: Path, agent: Agent, tasks: str, count: int = 1) -> list[AttemptRecord]:
    evaluation(home, agent, tasks, count).run()
    return records(home)


def records(home: Path) -> list[AttemptRecord]:
    store = Store(home)
    found = store.find_run("test")
    assert found is not None
    return [AttemptRecord.model_validate_json(row.record) for row in store.attempts(found) if row.record]


def knows(code: str, level: int, how: str = "{letter}", **given: Any) -> Callable[[Request], Answer]:
    """A model that names the right option of whatever step it is shown."""
    right = answers(code, level, seed_of(f"kidgym/grid/{code}-L{level}"))

    def answer(request: Request) -> Answer:
        shown = last_text(request.body["messages"])
        (letter,) = [letter for options, letter in right.items() if shown.endswith(options)]
        return say(how.format(letter=letter), **given)

    return answer


# ---- the three settings ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize(("code", "level"), PLAYS)
def test_every_picture_arrives_and_a_model_that_knows_solves_the_episode(setting, code, level, tmp_path) -> None:
    seed = seed_of(f"kidgym/grid/{code}-L{level}")
    with ModelServer(knows(code, level, HOW[setting])) as server:
        (record,) = run(tmp_path, agent_of(server, setting), f"{code}-L{level}")
        sent = [call.body for call in server.calls]
    assert (record.outcome, record.cause, record.settings.mode) == ("success", "goal_met", setting)
    now, steps = frames(code, level, seed), len(sent)
    example = frames(code, level, EXAMPLE) if setting == "icl" else []
    memory = next(iter(course(code, level, seed)))[0].task.memory
    assert steps == len(now) == record.actions
    for number, body in enumerate(sent):
        wanted = [*example, *(now[: number + 1] if memory else now[number : number + 1])]
        arrived = pictures(body["messages"])
        assert len(arrived) == len(wanted)
        for one, other in zip(arrived, wanted, strict=True):
            np.testing.assert_array_equal(one, other)
        assert body["temperature"] == 0
        assert "tools" not in body
        assert f"Step {number + 1} of at most" in last_text(body["messages"])
    assert record.usage.images_sent == len(example) + steps
    assert record.evidence["replies"] == {"chosen": steps, "ambiguous": 0, "none": 0, "published_differs": 0}
    assert [step["strict"]["kind"] for step in record.evidence["choices"]] == ["chosen"] * steps
    assert [step["reply"] for step in record.evidence["choices"]] == [
        HOW[setting].format(letter="ABCDEFGHIJKLMNOP"[step["taken"]]) for step in record.evidence["choices"]
    ]


def test_a_memory_task_is_sent_its_replies_too_and_another_task_none(tmp_path) -> None:
    for code, roles in (("SE", ["system", "user", "assistant", "user"]), ("CL", ["system", "user"])):
        with ModelServer(knows(code, 1)) as server:
            run(tmp_path / code, agent_of(server), f"{code}-L1")
            assert [message["role"] for message in server.calls[1].body["messages"]] == roles


def test_a_memory_task_keeps_what_it_showed_first_in_the_smallest_window(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(type(opened("http://localhost:9")), "context_tokens", 4096)
    with ModelServer(knows("MMA", 3, usage=None)) as server:  # sizes are estimated
        (record,) = run(tmp_path, agent_of(server), "MMA-L3")
        sent = [pictures(call.body["messages"]) for call in server.calls]
    assert record.outcome == "success"
    assert len(sent[-1]) < len(sent)  # pictures have been left out
    for shown in sent:
        np.testing.assert_array_equal(shown[0], sent[0][0])


def test_the_settings_differ_in_their_rules_and_in_the_agent_s_identity() -> None:
    with ModelServer([say("A")]) as server:
        made = [agent_of(server, setting) for setting in SETTINGS]
    assert len({agent.info.digest for agent in made}) == 3
    assert [agent.info.parameters["setting"] for agent in made] == list(SETTINGS)
    assert all(agent.info.sandbox is None and agent.info.pictures for agent in made)


@pytest.mark.parametrize("task", ["SE-L2", "MA-L1"])
def test_a_stored_transcript_folds_back_into_what_was_sent(task, tmp_path) -> None:
    import json

    with ModelServer([say("A")]) as server:
        (record,) = run(tmp_path, agent_of(server, "icl"), task)
        sent = [call.body["messages"] for call in server.calls]
    store = Store(tmp_path)
    found = store.find_run("test")
    assert found is not None
    folder = store.attempt_folder(found, record.attempt).final
    entries = [json.loads(line) for line in (folder / "transcript.jsonl").read_text().splitlines()]
    assert list(requests(entries, folder)) == sent


# ---- replies that name nothing --------------------------------------------------------------------------------------
REPLIES = {
    "none": (say("I refuse. Can't decide."), "none", "nothing named"),
    "ambiguous": (say("A or B"), "ambiguous", "several options by letter"),
    "empty": (say(""), "none", "nothing named"),
    "refusal": (say(None, refusal="I cannot help with that."), "none", "nothing named"),
    "cut": (say("A because", finish="length"), "none", "reply cut"),
    "filtered": (say("", finish="content_filter"), "none", "nothing named"),
}


@pytest.mark.parametrize("name", REPLIES)
def test_a_reply_that_names_no_option_uses_up_its_step_and_changes_nothing(name, tmp_path) -> None:
    reply, kind, rule = REPLIES[name]
    with ModelServer([reply]) as server:
        (record,) = run(tmp_path, agent_of(server), "MA-L1")
        sent = [pictures(call.body["messages"])[0] for call in server.calls]
    assert (record.outcome, record.cause, record.code, record.actions) == ("failure", "action_budget", "TIME", 3)
    assert all(np.array_equal(sent[0], other) for other in sent)
    steps = record.evidence["choices"]
    assert [(step["strict"]["kind"], step["strict"]["rule"], step["taken"]) for step in steps] == [
        (kind, rule, None)
    ] * 3
    assert record.evidence["replies"][kind] == 3
    assert record.usage.model_calls == 3


def test_a_memory_task_goes_on_after_an_empty_reply(tmp_path) -> None:
    with ModelServer([say(""), say("A")]) as server:
        run(tmp_path, agent_of(server), "SE-L1")
        assert server.calls[1].body["messages"][2] == {"role": "assistant", "content": "(no answer)"}


def test_the_record_has_what_both_decoders_make_of_a_reply() -> None:
    facts: dict[str, Any] = {}
    steps = Steps(facts)
    assert steps.replied(["pick up apple", "pick up pear"], "Not A but B", cut=False) == 1
    assert steps.replied(["pick up apple", "pick up pear"], "x" * (KEPT + 5), cut=False) is None
    first, second = facts["choices"]
    assert first["strict"] == {"kind": "chosen", "index": 1, "rule": "letter"}
    assert first["published"] == {"kind": "chosen", "index": 0, "rule": "letter"}
    assert (len(second["reply"]), second["cut"]) == (KEPT, 5)
    assert facts["replies"] == {"chosen": 1, "ambiguous": 0, "none": 1, "published_differs": 1}


# ---- models that cannot be evaluated --------------------------------------------------------------------------------
def test_a_model_that_is_known_to_take_no_pictures_is_refused_by_name() -> None:
    with pytest.raises(BadInput, match=r"model openai/gpt-3.5-turbo: it takes no pictures, as litellm's table says"):
        make_agent(AgentRequest("openai/gpt-3.5-turbo", board="kidgym"))


def blind(status: int) -> Callable[[Request], Answer]:
    """A server of a text model: it refuses what has a picture."""

    def answer(request: Request) -> Answer:
        seen = any(isinstance(message["content"], list) for message in request.body["messages"])
        return fault(status, "image input is not supported") if seen else say("OK")

    return answer


@pytest.mark.parametrize("status", [400, 500])
def test_a_model_that_refuses_a_picture_is_refused_before_the_first_attempt_with_its_reason(status) -> None:
    with ModelServer(blind(status)) as server, pytest.raises(BadInput) as caught:
        preflight(agent_of(server))
    assert "model openai/scripted: it takes no picture" in str(caught.value)
    assert "image input is not supported" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_model_that_is_refused_for_something_else_is_not_said_to_be_blind() -> None:
    with ModelServer([fault(401, "invalid api key")]) as server, pytest.raises(BadInput, match="the key was refused"):
        preflight(agent_of(server))
    with ModelServer([fault(402, "no money")]) as server, pytest.raises(RunStopped, match="no quota is left"):
        preflight(agent_of(server))


def test_a_model_that_sees_passes_the_check_which_sends_a_picture() -> None:
    with ModelServer([say("OK")]) as server:
        assert "answers as scripted" in str(preflight(agent_of(server)))
        (picture,) = pictures(server.calls[0].body["messages"])
    assert picture.shape == (64, 64, 3)
    assert check_png(blank_png(64), 64, 4096).width == 64


# ---- temperature ----------------------------------------------------------------------------------------------------
def test_the_board_is_played_at_temperature_0_where_a_model_takes_one() -> None:
    def at(model: str, given: float | None) -> float | None:
        request = AgentRequest(model, board="kidgym", parameters=Parameters(temperature=given))
        return at_temperature(request).parameters.temperature

    assert at("openai/gpt-4o", None) == at("openai/gpt-4o", 0.0) == 0.0
    assert at("openai/o3", 1.0) == 1.0
    with pytest.raises(BadInput, match=r"temperature 0.7: board kidgym is played at 0, and at 1 where a model takes"):
        at("openai/gpt-4o", 0.7)
