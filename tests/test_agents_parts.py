"""What model agents are made of: replies, pictures, the history, prompts, and pictures out of the sandbox."""

from __future__ import annotations

import io
import json
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agents_model import ScriptedModel
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from test_sandbox import Sandbox

from images.sandbox.pictures import MAX_BYTES, MAX_PICTURES, MAX_SIDE, encode
from manifests.load import load
from manifests.records import Artifact
from runner.agents.factory import SOURCES, model_agent
from runner.agents.history import History
from runner.agents.pictures import SIGNATURE, PictureError, check_png
from runner.agents.policy import PROMPTS, policy
from runner.agents.prompting import phrase, system_text, task_text
from runner.agents.registry import AgentRequest, make_agent
from runner.agents.replies import code_blocks, json_calls
from runner.errors import BadInput
from runner.models.base import Message
from runner.store.artifacts import AttemptFolder, check

SIDE, BYTES = policy().pictures.side, policy().pictures.bytes


# ---- replies ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("No code.", []),
        ("Look:\n```python\nprint(1)\n```\nDone.", ["print(1)"]),
        ("```py\na\n```\n~~~python\nb\n~~~", ["a", "b"]),
        ("```\nuntagged\n```", ["untagged"]),
        ("```json\n{}\n```\n```\nuntagged\n```\n```Python title=x\nmarked\n```", ["marked"]),
        ("```bash\nls\n```", []),
        ("````python\ntext = '''\n```\n'''\n````", ["text = '''\n```\n'''"]),
        ("  ```python\n  if x:\n      y()\n  ```", ["if x:\n    y()"]),
        ("```python\nnot closed", ["not closed"]),
        ("```python\n\n```", []),
        ("``` inline ``` and ```python too```", []),
        ("```python\r\na = 1\r\nb = '\x0c\u2028'\r\n```", ["a = 1\nb = '\x0c\u2028'"]),
    ],
)
def test_code_is_what_stands_in_fenced_python_blocks(text: str, code: list[str]) -> None:
    assert code_blocks(text) == code


@given(st.text(), st.lists(st.text(alphabet="ab =\n()'", min_size=1).filter(str.strip), min_size=1), st.text("ab \n"))
def test_prose_around_a_block_changes_nothing(before: str, codes: list[str], after: str) -> None:
    quiet = before.replace("`", "").replace("~", "").replace("\r", "").replace("\x00", "")
    text = quiet + "\n" + "".join(f"```python\n{code}\n```\n{after}\n" for code in codes)
    assert code_blocks(text) == codes


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("nothing {here}", []),
        ('{"tool": "finish"}', [("finish", {})]),
        ('I call {"tool": "observe", "arguments": {"fields": ["a"]}} now', [("observe", {"fields": ["a"]})]),
        ('```json\n{"tool": "finish", "arguments": {}}\n```\nbut not {"tool": "step"}', [("finish", {})]),
        ('```\n{"tool": "a"}\n{"tool": "b"}\n```', [("a", {}), ("b", {})]),
        ('{"a": 1} {"tool": 3} {"tool": "c", "arguments": "{\\"x\\": 1}"}', [("c", {"x": 1})]),
    ],
)
def test_a_call_in_text_is_a_json_object_with_its_tool(text: str, calls: list[Any]) -> None:
    assert [(call.name, json.loads(call.arguments)) for call in json_calls(text)] == calls


@given(st.text(alphabet='{}[]":,tol ae\n`', max_size=400))
def test_any_text_can_be_read(text: str) -> None:
    for call in json_calls(text):
        assert isinstance(call.name, str)
    for code in code_blocks(text):
        assert code.strip()


def test_two_megabytes_of_braces_and_fences_are_read_at_once() -> None:
    assert json_calls('{"tool": ' * 220_000) == []
    assert code_blocks("```python\n" * 200_000)


# ---- pictures --------------------------------------------------------------------------------------------------------
def png(width: int = 6, height: int = 4, mode: str = "RGB", **options: Any) -> bytes:
    out = io.BytesIO()
    Image.effect_noise((width, height), 90).convert(mode).save(out, "PNG", **options)
    return out.getvalue()


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def made(width: int, height: int, rows: bytes, depth: int = 8, colour: int = 2, interlace: int = 0) -> bytes:
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlace)
    return SIGNATURE + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L", "LA"])
def test_an_ordinary_picture_is_taken_with_its_size(mode: str) -> None:
    data = png(13, 7, mode)
    picture = check_png(data, SIDE, BYTES)
    assert (picture.width, picture.height) == (13, 7)
    assert picture.part()["image_url"]["url"] == picture.name == f"pictures/{picture.sha256}.png"


ROW = bytes(1 + 3 * 6)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "not a PNG"),
        (b"GIF89a", "not a PNG"),
        (SIGNATURE, "empty"),
        (png()[:-5], "cut short"),
        (png()[:-20] + b"\xff" + png()[-19:], "checksum"),
        (SIGNATURE + chunk(b"IEND", b""), "header or end is missing"),
        (png(mode="P"), "palette"),
        (made(6, 4, ROW * 4, colour=3), "8-bit grey or RGB"),
        (made(6, 4, ROW * 4, depth=16), "8-bit grey or RGB"),
        (made(6, 4, ROW * 4, interlace=1), "interlacing"),
        (made(0, 4, ROW * 4), "0 x 4 pixels"),
        (made(SIDE + 1, 4, ROW * 4), f"{SIDE + 1} x 4 pixels"),
        (made(2**31, 2**31, ROW), "pixels, a side has"),
        (made(6, 4, ROW * 3), "does not fit"),
        (made(6, 4, ROW * 5), "does not fit"),
        (made(6, 4, (b"\x09" + ROW[1:]) * 4), "does not fit"),
        (made(6, 4, bytes(1 << 26)), "does not fit"),
        (SIGNATURE + chunk(b"IHDR", made(6, 4, b"")[16:29]) + chunk(b"IDAT", b"junk") + chunk(b"IEND", b""), "broken"),
    ],
)
def test_a_forged_picture_is_refused_before_a_provider_sees_it(data: bytes, why: str) -> None:
    with pytest.raises(PictureError, match=why):
        check_png(data, SIDE, BYTES)


@given(st.integers(0, 10_000), st.integers(0, 255))
def test_no_changed_byte_passes_as_another_picture(position: int, value: int) -> None:
    data = bytearray(png(9, 5))
    position %= len(data)
    changed = data[position] != value
    data[position] = value
    if changed:
        with pytest.raises(PictureError):
            check_png(bytes(data), SIDE, BYTES)


def test_the_limits_of_the_sandbox_are_those_of_the_policy() -> None:
    assert (MAX_SIDE, MAX_BYTES) == (SIDE, BYTES)
    noise = np.random.default_rng(0).integers(0, 256, (MAX_SIDE, MAX_SIDE, 3), np.uint8)
    assert check_png(encode(noise), SIDE, BYTES).width == MAX_SIDE


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    sandbox = Sandbox()
    yield sandbox
    sandbox.kill()


def pictures(result: dict[str, Any]) -> list[bytes]:
    return [result[key] for key in sorted(result) if key.startswith("picture/")]


def test_shown_pictures_leave_the_sandbox_in_order_and_pixel_by_pixel(sandbox: Sandbox) -> None:
    result = sandbox.run("import numpy as np\nfor n in (1, 2, 3): show(np.full((n, 2, 3), n, np.uint8))")
    found = [np.asarray(Image.open(io.BytesIO(data))) for data in pictures(result)]
    assert [image.shape for image in found] == [(1, 2, 3), (2, 2, 3), (3, 2, 3)]
    assert [int(image.max()) for image in found] == [1, 2, 3]


def test_pictures_of_code_that_fails_or_is_killed_are_kept(sandbox: Sandbox) -> None:
    show = "from PIL import Image\nshow(Image.new('L', (3, 3)))\n"
    assert len(pictures(sandbox.run(show + "1 / 0"))) == 1
    assert len(pictures(sandbox.run(show + "import os; os._exit(3)"))) == 1
    assert len(pictures(sandbox.run(show + "while True: pass", timeout_s=0.5))) == 1
    assert pictures(sandbox.run("1")) == []


@pytest.mark.parametrize(
    ("argument", "why"),
    [
        ("'text'", "got str"),
        ("np.zeros((2, 2, 3))", "array float64"),
        ("np.zeros((2, 2, 4), np.uint8)", "array uint8"),
        ("np.zeros((2000, 2, 3), np.uint8)", "2 x 2000 pixels"),
        ("np.zeros((0, 2), np.uint8)", "0 pixels"),
    ],
)
def test_what_cannot_be_shown_is_an_exception_of_the_code(sandbox: Sandbox, argument: str, why: str) -> None:
    result = sandbox.run(f"import numpy as np\nshow({argument})")
    assert result["status"] == "error"
    assert why in result["error"]["message"]


def test_the_ninth_picture_is_refused_and_forged_ones_are_counted(sandbox: Sandbox) -> None:
    result = sandbox.run(f"import numpy as np\nfor n in range({MAX_PICTURES + 1}): show(np.zeros((2, 2), np.uint8))")
    assert "at most 8 pictures" in result["error"]["message"]
    assert len(pictures(result)) == MAX_PICTURES
    forge = (
        "import gc\nfrom images.client.wire import encode\n"
        "worker = next(o for o in gc.get_objects() if type(o).__name__ == '_Interpreter')\n"
        "for n in range(20): worker._send({'op': 'show'}, {'picture': b'x' * 1000})\n"
        "worker._send({'op': 'show'}, {})\nprint('sent')"
    )
    result = sandbox.run(forge)
    assert len(pictures(result)) == MAX_PICTURES
    assert result["pictures_omitted"] == 13


def test_a_kept_picture_is_an_artifact_of_its_folder(tmp_path: Path) -> None:
    folder = AttemptFolder(tmp_path, "a-1")
    folder.start()
    picture = check_png(png(), SIDE, BYTES)
    folder.keep(picture.name, picture.data)
    (artifact,) = folder.seal()
    folder.keep("pictures/late.png", b"late")
    wanted = Artifact(name=picture.name, sha256=picture.sha256, size=len(picture.data), media_type="image/png")
    assert artifact == wanted
    assert check(folder.part, artifact) is None
    assert not (folder.part / "pictures/late.png").exists()


# ---- history ---------------------------------------------------------------------------------------------------------
def user(text: str) -> Message:
    return {"role": "user", "content": text}


@given(st.lists(st.integers(1, 30_000), min_size=1, max_size=60))
def test_whatever_is_said_the_prompt_and_the_newest_turns_stay_and_the_rest_fits(sizes: list[int]) -> None:
    rules = policy().history
    history = History(rules, window=40_000)
    history.add(user("the task"), "prompt", 0)
    for turn, size in enumerate(sizes, 1):
        history.add({"role": "assistant", "content": "r" * 50}, "replies", turn)
        history.add(user("o" * size), "outputs", turn)
        before = [dict(item.message) for item in history.items]
        for eviction in history.make_room():
            before[eviction.index] = eviction.message
        assert before == [item.message for item in history.items]
        kept = rules.newest_turns_kept.outputs
        assert all(
            len(item.message["content"]) == size
            for item, size in zip(history.items[2::2][-kept:], sizes[max(0, turn - kept) : turn], strict=True)
        )
        assert history.items[0].message == user("the task")
        assert history.tokens < 40_000


def test_the_provider_s_own_count_corrects_the_estimate() -> None:
    history = History(policy().history, window=1000)
    history.add(user("x" * 350), "prompt", 0)
    assert history.tokens == pytest.approx(100)
    history.counted(300)
    history.add(user("x" * 350), "outputs", 1)
    assert history.tokens == pytest.approx(600)


# ---- prompts ---------------------------------------------------------------------------------------------------------
DESCRIBE: dict[str, Any] = {
    "environment_id": "marble/dual-panda/A007",
    "title": "Costs $5",
    "task": "Knock it over.",
    "mode": "loaded",
    "embodiment": None,
    "control_hz": 50.0,
    "controls": [{"name": "force", "unit": "N", "low": -1.0, "high": 1.0, "text": "along the rail"}],
    "fields": [{"name": "speed", "unit": "m/s", "shape": [1], "level": "L0", "text": "of it", "dtype": "float64"}],
    "cameras": [],
    "clauses": [
        {"id": "S-01", "text": "Stand.", "value": 1.5, "unit": "m", "tolerance": 0.05, "code": None},
        {"id": "S-02", "text": "Never behind.", "value": None, "unit": "", "tolerance": None, "code": "LIMIT"},
    ],
    "budgets": {"actions": 7500, "simulated_s": 150.0, "wall_s": 600.0, "tokens": 30_000_000, "images": None},
    "access": {"level": "L0", "grants": []},
    "parameters": {"stiffness": 22.0, "required": [["board", "cleared"]]},
}


def test_the_task_says_all_that_describe_says() -> None:
    text = task_text(DESCRIBE, 6)
    for said in (
        "# marble/dual-panda/A007: Costs $5",
        "Knock it over.",
        "- force: -1.0 to 1.0 N; along the rail",
        "- speed: float64 [1], m/s; of it (L0)",
        "- S-01: Stand. Value: 1.5 m. Tolerance: 0.05 m.",
        "- S-02 [LIMIT]: Never behind.",
        "- actions: 7500",
        "- tokens: 30000000",
        "- images: not limited",
        "Level L0. Granted tools: none.",
        "- stiffness: 22.0",
        '- required: [["board", "cleared"]]',
    ):
        assert said in text, said


def test_cameras_and_parameters_are_given_with_the_digits_of_the_policy_and_thresholds_in_full() -> None:
    third = {"id": "S-03", "text": "At most.", "value": 1 / 3, "unit": "m", "tolerance": None, "code": "LIMIT"}
    text = task_text({**DESCRIBE, "parameters": {"pose": [[1 / 3, 1]]}, "clauses": [third]}, 6)
    assert "- pose: [[0.333333, 1]]" in text
    assert "Value: 0.3333333333333333 m." in text
    assert "6 significant digits" in text


@pytest.mark.parametrize("agent", ["code", "tools"])
@pytest.mark.parametrize("functions", [True, False])
@pytest.mark.parametrize("sees", [True, False])
def test_every_prompt_is_complete(agent: str, functions: bool, sees: bool) -> None:
    text = system_text(agent, functions=functions, sees=sees, policy=policy())
    assert "$" not in text
    assert ("run_python" in text or "Call the functions" in text) is functions
    assert ("take no pictures" in text) is not sees
    assert {path.suffix for path in PROMPTS.iterdir()} == {".md", ".json"}


def test_a_phrase_needs_all_its_values() -> None:
    assert phrase("several_blocks", count=3).startswith("The reply held 3")
    with pytest.raises(KeyError):
        phrase("several_blocks")


# ---- identity --------------------------------------------------------------------------------------------------------
def test_the_digest_covers_manner_policy_prompts_and_code() -> None:
    request = AgentRequest("openai/x")
    infos = [
        model_agent(name, request, ScriptedModel([], functions=functions, sees=sees)).info
        for name in ("code", "tools")
        for functions in (True, False)
        for sees in (True, False)
    ]
    other = policy().model_copy(update={"code": policy().code.model_copy(update={"timeout_s": 1.0})})
    infos.append(model_agent("code", request, ScriptedModel([]), rules=other).info)
    assert len({(info.name, info.digest) for info in infos}) == len(infos)
    assert all(info.level == "L0" and info.pictures and not info.trusted for info in infos)
    folder = PROMPTS.parent
    no_model = {"__init__", "base", "baselines", "choosers", "registry"}
    afterwards = {"recovered"}  # reads what an attempt left behind
    assert {path.stem for path in folder.glob("*.py")} - no_model - afterwards == set(SOURCES)


def test_every_tolerated_slip_is_a_cause() -> None:
    manifests = load()
    assert set(manifests.model_calls.tolerated_in_a_row) <= set(manifests.causes)


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (AgentRequest("openai/x", agent="chat"), ["agent 'chat'", "code, tools"]),
        (AgentRequest("gpt-4o"), ["model 'gpt-4o'", "provider/model"]),
        (AgentRequest("reference", agent="code"), ["agent 'code'", "leave AGENT out"]),
    ],
)
def test_a_wrong_choice_is_named_with_its_fix(request_: AgentRequest, words: list[str]) -> None:
    with pytest.raises(BadInput) as caught:
        make_agent(request_)
    assert all(word in str(caught.value) for word in words)


@pytest.mark.parametrize(
    ("level", "grants", "words"),
    [("L4", None, "level 'L4'"), ("L1", ("planner",), "grants planner: there is no tool")],
)
def test_a_level_or_grant_that_does_not_exist_is_refused(level: str, grants: tuple[str, ...], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        model_agent("code", AgentRequest("openai/x", None, level, grants), ScriptedModel([]))
