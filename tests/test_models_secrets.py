"""No key, nothing of the host's environment and nothing of litellm in what a call leaves; and a bad key, an unknown
model or a wrong address stop a run before its first attempt."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from model_server import Answer, ModelServer, Request, completion, say
from model_server import fault as error
from model_session import ask, client, fault, opened, policy

from runner.errors import AssayError, BadInput, RunStopped
from runner.models.base import Sampling
from runner.models.open import open_model
from runner.models.redact import MASK, Redactor

ROOT = Path(__file__).resolve().parent.parent
KEY = "sk-proj-Zq81NotARealKey7733abcdef"
OTHER = "another-secret-of-this-host-42"


@pytest.fixture
def keyed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("CORPORATE_TOKEN", OTHER)


def echo(request: Request) -> Answer:
    """A server that shows everything that it was sent."""
    return say(f"you sent {json.dumps(request.headers)} and {OTHER}", [("step", json.dumps(request.headers))])


def everything(value: Any) -> str:
    return json.dumps(value, default=lambda item: getattr(item, "__dict__", str(item)), ensure_ascii=False)


def clean(text: str) -> bool:
    """Neither a secret nor a path of this host nor the library's own words."""
    words = (KEY, KEY[8:24], OTHER, str(ROOT), sys.prefix, "Traceback", "litellm.", "site-packages", "Exception -")
    return not any(word in text for word in words)


def run_python(program: str, environment: dict[str, str] | None = None) -> tuple[str, str]:
    """What a fresh interpreter writes to stdout and stderr."""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False)
    return done.stdout, done.stderr


@pytest.mark.usefixtures("keyed")
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_a_key_that_a_server_echoes_is_not_in_the_reply(stream: bool) -> None:
    with ModelServer(echo) as server:
        reply = ask(client(server, stream=stream))
        assert server.calls[0].headers["authorization"] == f"Bearer {KEY}"
    assert clean(everything([reply.text, reply.raw, reply.message, reply.tool_calls]))
    assert MASK in reply.text


@pytest.mark.usefixtures("keyed")
def test_a_key_in_signed_thinking_is_not_sent_back_or_kept() -> None:
    blocks = [{"type": "thinking", "thinking": f"the key is {KEY}", "signature": OTHER}]
    message = {"role": "assistant", "content": "hello", "thinking_blocks": blocks}
    with ModelServer([Answer(completion([{"index": 0, "message": message, "finish_reason": "stop"}]))]) as server:
        reply = ask(client(server))
    assert clean(everything([reply.text, reply.raw, reply.message]))


SHOWN = {
    "base64": lambda key: base64.b64encode(key.encode()).decode(),
    "base64 of a header": lambda key: base64.b64encode(f"Bearer {key}".encode()).decode(),
    "base64 within a line": lambda key: base64.b64encode(f"x={key}; y=1".encode()).decode(),
    "base64 for addresses": lambda key: base64.urlsafe_b64encode(key.encode()).decode().rstrip("="),
    "hexadecimal": lambda key: key.encode().hex(),
    "HEXADECIMAL": lambda key: key.encode().hex().upper(),
    "escaped": lambda key: quote(key, safe=""),
    "backwards": lambda key: key[::-1],
}


@pytest.mark.parametrize("shape", SHOWN)
@pytest.mark.parametrize("key", [KEY, "short+/8", "schl\u00fcssel/\U0001f511 mit blank"])
def test_a_key_that_is_shown_in_another_shape_is_masked(shape: str, key: str) -> None:
    shown = SHOWN[shape](key)
    found = Redactor(environment={"A_KEY": key}).text(f"you sent {shown} to us")
    assert MASK in found
    assert len(found) < len(f"you sent {MASK} to us") + 16  # of a longer text in base64 what is not the key's stays


def test_a_key_goes_to_no_other_server_than_the_one_that_was_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    with ModelServer([say("hello")]) as other:
        there = Answer(b"", 307, {"Location": f"{other.url}/messages"})
        with ModelServer([there]) as server:
            found = fault(client(server, name="anthropic/claude-sonnet-4-5"))
            assert server.calls[0].headers["x-api-key"] == KEY
        assert other.requests == []
    assert (found.cause, found.evidence["status"]) == ("provider_fault", 307)


@pytest.mark.usefixtures("keyed")
@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500])
def test_a_key_in_an_error_is_in_no_text_of_the_fault(status: int) -> None:
    with ModelServer([error(status, f"key {KEY} ({KEY[:12]}**** ) of {OTHER} refused")]) as server:
        found = fault(client(server, calls=policy(retry={"tries": 2})))
    assert clean(everything([found.text, found.evidence, found.args, str(found), repr(found)]))
    assert found.__cause__ is None
    assert found.__context__ is None or found.__suppress_context__


@pytest.mark.usefixtures("keyed")
def test_a_call_writes_nothing_to_the_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    answers = [error(500, "boom"), error(400, "bad"), Answer(b"no json"), say("hello")]
    with ModelServer(answers) as server:
        asked = client(server)
        fault(asked)
        fault(asked)
        ask(asked)
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_the_environment_of_litellm_changes_no_request_and_logs_nothing() -> None:
    program = (
        "import os, sys, time, threading; sys.path[:0] = ['tests'];"
        "from model_server import ModelServer, say;"
        "from runner.models.open import open_model; from runner.models.base import Allowance, Sampling\n"
        "with ModelServer([say('hello')]) as server:\n"
        "    model = open_model('openai/scripted', Sampling(base_url=server.url, effort='high'))\n"
        "    asked = model.client(Allowance())\n"
        "    asked.complete([{'role': 'user', 'content': 'hi'}], deadline=time.monotonic() + 60,"
        " cancel=threading.Event())\n"
        "    print(server.calls[0].body['reasoning_effort'], server.calls[0].headers['authorization'][-6:])\n"
        "print('litellm.proxy._types' in sys.modules)\n"  # 16 MB for nothing
    )
    host = {"LITELLM_LOG": "DEBUG", "LITELLM_DROP_PARAMS": "True", "LITELLM_MODIFY_PARAMS": "True"}
    environment = {**os.environ, **host, "OPENAI_API_KEY": KEY}
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("high abcdef\nFalse\n", "")


def test_a_call_that_ends_while_it_is_prepared_sends_nothing_and_says_nothing() -> None:
    """As at the wall clock: litellm is in the middle of preparing the request when it is given up."""
    with ModelServer([say("hello")]) as server:
        program = (
            "import gc, time, threading\n"
            "from runner.models.base import Allowance, CallCancelled, Sampling\n"
            "from runner.models.open import open_model\n"
            f"model = open_model('openai/scripted', Sampling(base_url={server.url!r}))\n"
            "model.preflight()\n"
            "asked, never = model.client(Allowance()), threading.Event()\n"
            "for number in range(24):\n"
            "    try:\n"
            "        deadline = time.monotonic() + number / 5000\n"
            "        asked.complete([{'role': 'user', 'content': 'hi'}], deadline=deadline, cancel=never)\n"
            "    except CallCancelled:\n"
            "        print('cancelled')\n"
            "time.sleep(0.3)\n"
            "gc.collect()\n"
        )
        stdout, stderr = run_python(program)
    assert stderr == ""
    assert stdout.count("cancelled") > 5


def test_a_baseline_imports_nothing_of_litellm() -> None:
    program = (
        "import sys, runner.cli, runner.evaluate, runner.agents.registry;"
        "print([name for name in ('litellm', 'openai', 'httpx', 'tenacity') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "[]"


def test_the_redactor_takes_the_longest_value_first_and_leaves_place_holders() -> None:
    redactor = Redactor(environment={"A_KEY": "secret-value", "B_TOKEN": "secret-value-longer", "C_KEY": "none"})
    assert redactor.text("secret-value-longer secret-value none") == f"{MASK} {MASK} none"
    assert redactor.json({"secret-value": ["x\ud800", b"secret-value", 1.5]}) == {MASK: ["x\\ud800", MASK, 1.5]}


@pytest.mark.parametrize("text", ["sk-learn_and_more = 1", "key_positions_of_the_arm", "def hf_transform_all(): pass"])
def test_a_models_own_code_is_left_alone(text: str) -> None:
    assert Redactor(environment={}).text(text) == text


# before the first attempt


def refusal(server: ModelServer | str, name: str = "openai/scripted", **given: Any) -> AssayError:
    with pytest.raises(AssayError) as caught:
        opened(server, name, **given).preflight()
    text = str(caught.value)
    assert "\n" not in text
    assert clean(text)
    return caught.value


def test_a_model_that_answers_is_named_as_it_calls_itself() -> None:
    with ModelServer([say("OK", model="scripted-0613")]) as server:
        assert opened(server).preflight() == "model openai/scripted answers as scripted-0613 (150 tokens for the check)"
        assert server.calls[0].body["max_tokens"] == 64


def test_a_bad_answer_to_the_check_is_an_answer() -> None:
    with ModelServer([say("O", finish="length")]) as server:
        assert "answers as" in opened(server).preflight()


@pytest.mark.usefixtures("keyed")
@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (error(401, f"Incorrect API key provided: {KEY}"), BadInput, "key was refused"),
        (error(404, "The model does not exist", "model_not_found"), BadInput, "it is unknown"),
        (error(400, "Unsupported value: temperature"), BadInput, "parameters are refused"),
        (error(429, "no credit", "insufficient_quota"), RunStopped, "no quota is left"),
        (error(503, "overloaded"), RunStopped, "does not answer"),
    ],
    ids=["key", "model", "parameter", "quota", "outage"],
)
def test_what_would_fail_every_attempt_is_one_line_before_the_first(
    answer: Answer, kind: type[AssayError], words: str
) -> None:
    with ModelServer([answer]) as server:
        found = refusal(server)
        assert len(server.calls) <= 3
    assert type(found) is kind
    assert words in str(found)


@pytest.mark.parametrize(
    "answer", [Answer(b"<html>welcome</html>"), Answer(completion([])), Answer({"hello": "world"})]
)
def test_what_answers_and_is_no_model_stops_the_run_before_its_first_attempt(answer: Answer) -> None:
    with ModelServer([answer]) as server:
        found = refusal(server)
    assert type(found) is RunStopped
    assert "is no model" in str(found)
    assert "check MODEL and BASE_URL" in str(found)


def test_nobody_at_the_address_is_named_soon() -> None:
    with ModelServer([say("x")]) as server:
        pass
    assert "does not answer at http://127.0.0.1" in str(refusal(server))


def test_a_name_without_a_provider_is_refused(capfd: pytest.CaptureFixture[str]) -> None:
    assert "write it as provider/model" in str(refusal("http://127.0.0.1:9/v1", "nosuch/model"))
    assert capfd.readouterr() == ("", "")


def test_a_missing_key_is_named_by_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(BadInput, match="set ANTHROPIC_API_KEY"):
        open_model("anthropic/claude-sonnet-4-5").preflight()


def test_a_parameter_that_the_model_does_not_take_is_refused() -> None:
    found = refusal("http://127.0.0.1:9/v1", "openai/gpt-4o", effort="high")
    assert "effort 'high': openai/gpt-4o takes no reasoning_effort; leave EFFORT out" in str(found)


def test_an_address_that_only_the_environment_knows_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with pytest.raises(BadInput, match="OPENAI_BASE_URL is set, and a run must record"):
        open_model("openai/gpt-4o").preflight()


@pytest.mark.parametrize(
    ("variable", "model"),
    [
        ("LLAMA_API_BASE", "meta_llama/x"),
        ("OPENAI_API_BASE", "text-completion-openai/x"),
        ("WX_URL", "watsonx/x"),
    ],
)
def test_an_address_in_a_variable_of_any_name_is_refused(
    monkeypatch: pytest.MonkeyPatch, variable: str, model: str
) -> None:
    for name in ("LLAMA_API_KEY", "OPENAI_API_KEY", "WATSONX_TOKEN", "WATSONX_APIKEY", "WATSONX_PROJECT_ID"):
        monkeypatch.setenv(name, KEY)
    with ModelServer([say("OK")]) as server:
        monkeypatch.setenv(variable, server.url)
        with pytest.raises(BadInput, match=f"^{variable} is set, and a run must record where its model is"):
            open_model(model).preflight()


def test_a_key_in_the_path_of_an_address_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with pytest.raises(BadInput, match=r"base-url: .*holds the value of a key") as caught:
        open_model("openai/scripted", Sampling(base_url=f"http://127.0.0.1:9/v1/{KEY}"))
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    "address",
    ["http://user:secret@host/v1", "http://host/v1?key=secret", "host:8000", "ftp://host/v1", "http://host:x/"],
)
def test_an_address_that_cannot_be_recorded_is_refused(address: str) -> None:
    with pytest.raises(BadInput, match=r"^base-url"):
        open_model("openai/scripted", Sampling(base_url=address))


@pytest.mark.parametrize("name", ["api_key", "extra_headers", "model", "stream"])
def test_a_parameter_that_would_take_a_secret_along_or_has_an_option_is_refused(name: str) -> None:
    with pytest.raises(BadInput, match=f"parameter '{name}': it cannot be given so"):
        open_model("openai/scripted", Sampling(extra={name: KEY}))


def test_a_parameter_that_nobody_knows_is_refused_before_the_first_attempt() -> None:
    found = refusal("http://127.0.0.1:9/v1", extra={"thinkharder": 3})
    assert "parameter thinkharder 3: openai/scripted takes none of that name; leave it out" in str(found)
