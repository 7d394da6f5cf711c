"""A submitter who writes every hash again: what an attempt's files and its fingerprint claim is all held against the
replay, and nothing that the submitter wrote lowers what a replay has to show."""

from __future__ import annotations

import io
import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from audit_forger import Forger, audit, digests, findings, make_run
from test_audit_compare import EXACT, course

from manifests.audit import load_audit
from manifests.load import load
from manifests.records import AttemptRecord, ImageIdentity
from runner.audit import pages
from runner.audit.classes import Judged, Origin, judge, origin_of
from runner.audit.compare import divergence
from runner.audit.recorded import CannotReplay, Course, read
from runner.audit.replay import Replayed

GOAL, WALL, QUIT = 0, 1, 2  # the conditions of the run, by how their attempt ended
CHECKS = ("chain", "artifacts", "rescore", "eligibility")


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("original")
    make_run(home)
    return home


@pytest.fixture
def home(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "home"))


@pytest.fixture
def forger(home: Path) -> Iterator[Forger]:
    made = Forger(home)
    yield made
    made.database.close()


def npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


@pytest.fixture(scope="module")
def stored() -> Course:
    """An episode of 120 actions: digests at 0, 50, 100 and 120, samples at every second action."""
    actions = np.zeros((120, 2))
    actions[:, 0] = np.random.default_rng(3).uniform(-0.1, 0.1, 120)
    return course(actions)[0]


def where(forged: Course, stored: Course, **options: Any) -> str:
    return str(divergence(forged, stored, EXACT, **options))


# ---- digests ---------------------------------------------------------------------------------------------------------
DIGESTS: dict[str, tuple[Callable[[list[Any]], list[Any]], str]] = {
    "at other counts": (
        lambda found: [found[0], (51, "0" * 64), (101, "0" * 64), found[-1]],
        "between actions 1 and 50: digest differs (recorded none, now",
    ),
    "only the last": (lambda found: found[-1:], "before the first action: digest differs (recorded none, now"),
    "one missing": (
        lambda found: [found[0], *found[2:]],
        "between actions 1 and 50: digest differs (recorded none, now",
    ),
    "the last missing": (
        lambda found: found[:-1],
        "between actions 101 and 120: digest differs (recorded none, now",
    ),
    "one too many": (
        lambda found: [*found[:2], (75, "0" * 64), *found[2:]],
        "between actions 51 and 75: digest differs (recorded 000000000000000000000..., now none)",
    ),
    "one twice": (lambda found: [found[0], *found], "before the first action: digest differs (recorded"),
    "in another order": (
        lambda found: [found[1], found[0], *found[2:]],
        "before the first action: digest differs (recorded none, now",
    ),
}


@pytest.mark.parametrize("name", DIGESTS)
def test_the_digests_of_the_record_are_those_that_the_replay_makes_no_more_and_no_less(
    stored: Course, name: str
) -> None:
    change, text = DIGESTS[name]
    forged = replace(stored, digests=tuple(change(list(stored.digests))))
    assert where(forged, stored).startswith(text)
    loose = divergence(forged, stored, load_audit().classes["tolerance"])
    assert loose is not None  # which digests there are is the same on every processor
    assert loose.structural


# ---- states ----------------------------------------------------------------------------------------------------------
def moved(times: np.ndarray, row: int) -> np.ndarray:
    times = times.copy()
    times[row] += 1e-9
    return times


def changed(states: np.ndarray, value: float | None) -> np.ndarray:
    states = states.copy()
    if value is None:
        states.view(np.uint32)[30, 0] ^= 1
    else:
        states[30, 0] = value
    return states


STATES: dict[str, tuple[Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]], str]] = {
    "invented": (lambda s, t: (np.full_like(s, 7), t + 1e-7), "before the first action: state_times differs"),
    "one row": (
        lambda s, t: (s[:1], t[:1]),
        "between actions 1 and 2: state_times differs (recorded none, now 0.04 s)",
    ),
    "none": (lambda s, t: (s[:0], t[:0]), "before the first action: state_times differs (recorded none, now 0.0 s)"),
    "one row less": (
        lambda s, t: (s[:-1], t[:-1]),
        "between actions 101 and 120: state_times differs (recorded none, now 2.4 s)",
    ),
    "one row more": (
        lambda s, t: (np.vstack([s, s[-1:]]), np.append(t, 2.44)),
        "between actions 121 and 122: state_times differs (recorded 2.44 s, now none)",
    ),
    "another time": (lambda s, t: (s, moved(t, 10)), "between actions 1 and 20: state_times differs"),
    "the lowest bit": (lambda s, t: (changed(s, None), t), "between actions 51 and 60: state[0] differs by"),
    "not a number": (lambda s, t: (changed(s, np.nan), t), "between actions 51 and 60: state[0] differs (recorded nan"),
    "all not a number": (lambda s, t: (s * np.nan, t), "before the first action: state[0] differs (recorded nan"),
    "other columns": (lambda s, t: (s[:, :0], t), "before the first action: state differs (recorded 0 numbers"),
}


@pytest.mark.parametrize("name", STATES)
def test_the_samples_of_the_record_have_the_times_and_the_numbers_of_the_replay(stored: Course, name: str) -> None:
    change, text = STATES[name]
    states, times = change(stored.states, stored.times)
    assert where(replace(stored, states=states, times=times), stored).startswith(text)


def test_an_attempt_that_a_fault_cut_off_may_lack_its_last_instant_and_no_other(stored: Course) -> None:
    last = replace(stored, digests=stored.digests[:-1], states=stored.states[:-1], times=stored.times[:-1])
    assert divergence(last, stored, EXACT, complete=False) is None
    assert divergence(last, stored, EXACT) is not None
    more = replace(last, digests=stored.digests[:-2])
    assert divergence(more, stored, EXACT, complete=False) is not None
    other = replace(last, digests=(*stored.digests[:-2], (100, "0" * 64)))
    assert divergence(other, stored, EXACT, complete=False) is not None


@pytest.mark.parametrize("value", [None, "none", True, 2.0**60, []])
def test_nothing_stands_in_the_realized_start_that_the_replay_does_not_say(stored: Course, value: Any) -> None:
    text = "before the first action: realized.extra differs (recorded"
    assert where(replace(stored, realized={"x": 0.0, "extra": value}), stored).startswith(text)
    assert where(stored, replace(stored, realized={"x": 0.0, "extra": value})).startswith(text)


def test_true_is_not_one(stored: Course) -> None:
    one, true = (replace(stored, realized={"x": value}) for value in (1.0, True))
    assert divergence(one, true, EXACT) is not None


# ---- the fingerprint is the submitter's ------------------------------------------------------------------------------
HERE = {"python": "3.12.1", "cpu": "x86_64", "cpu_flags": ["avx", "avx2"], "gl": "egl"}
IMAGE = ImageIdentity(role="mujoco", reference="r", id="i", content="a" * 64)
BIT, FAR = 1e-7, 0.1  # of one action, far below and far above the tolerance


def judged(stored: Course, then: dict[str, Any], by: float, *, image: str = "a" * 64, docker: bool = True) -> Any:
    """``Origin`` and ``Judged`` of a record with fingerprint ``then`` whose 61st action was changed by ``by``."""
    record = AttemptRecord.model_construct(
        fingerprint=then,
        incident="none",
        images=(IMAGE.model_copy(update={"content": image}),),
        settings=type("Settings", (), {"engine": "mujoco"})(),
    )
    actions = stored.actions.copy()
    actions[60, 0] += by
    now = Replayed(course(actions)[0], "quit", None, None, "", None, HERE, (IMAGE,), 1.0)
    origin = origin_of(record, now, load_audit(), from_images=docker)
    return origin, judge(record, stored, now, origin, load(), load_audit())


OTHER = {"cpu_flags": ["avx"]}
FINGERPRINTS: list[tuple[dict[str, Any], dict[str, Any], str | None]] = [
    ({}, {}, None),
    (OTHER, {}, "processor"),
    ({"cpu": "aarch64"}, {}, "processor"),
    ({"gl": "osmesa"}, {}, None),  # draws, and moves nothing
    ({"python": "9.9"}, {}, None),  # the same image has one Python
    ({"invented": 1}, {}, None),
    ({"python": "9.9"}, {"docker": False}, "installation"),
    ({"invented": 1}, {"docker": False}, None),
    (OTHER, {"docker": False}, "processor"),
    ({}, {"image": "b" * 64}, "image"),
]


@pytest.mark.parametrize(("fields", "options", "elsewhere"), FINGERPRINTS)
def test_an_altered_action_never_passes_whatever_the_fingerprint_says(
    stored: Course, fields: dict[str, Any], options: dict[str, Any], elsewhere: str | None
) -> None:
    origin, found = judged(stored, {**HERE, **fields}, BIT, **options)
    assert isinstance(origin, Origin)
    assert isinstance(found, Judged)
    assert found.divergence is not None
    assert found.severity == ("problem" if elsewhere is None else "doubt")
    expected = None if elsewhere is None else f"not bit-exact: within tolerance on another {elsewhere}"
    assert found.remark == expected
    far = judged(stored, {**HERE, **fields}, FAR, **options)[1]
    assert (far.severity, far.binding) == ("problem", "bit-exact")


def test_a_record_that_leaves_its_processor_out_explains_nothing(stored: Course) -> None:
    assert judged(stored, {}, BIT)[1].severity == "problem"
    assert judged(stored, {}, BIT, docker=False)[1].severity == "problem"


def test_an_equal_replay_is_bit_exact_on_any_machine(stored: Course) -> None:
    for fields, options, _ in FINGERPRINTS:
        found = judged(stored, {**HERE, **fields}, 0.0, **options)[1]
        assert (found.binding, found.divergence, found.severity) == ("bit-exact", None, None)


def test_the_same_image_has_one_python_and_a_record_that_says_otherwise_fails(stored: Course) -> None:
    origin = judged(stored, {**HERE, **OTHER, "python": "9.9"}, 0.0)[0]
    assert origin.differs == ("cpu_flags", "python")
    assert origin.impossible == ("record.fingerprint.python is '9.9', and '3.12.1' in the same image",)
    assert judged(stored, {**HERE, "gl": "osmesa"}, 0.0)[0].impossible == ()
    assert len(judged(stored, {}, 0.0)[0].impossible) == 3


# ---- whole audits ----------------------------------------------------------------------------------------------------
def test_forged_lists_are_found_by_the_replay_where_every_hash_fits(home: Path, forger: Forger) -> None:
    found = digests(forger.folder(WALL))
    forger.forge(WALL, "digests.json", json.dumps([found[0], [51, "0" * 64], *found[2:]]).encode())
    states, times = (np.load(forger.folder(QUIT) / name) for name in ("states.npy", "state_times.npy"))
    forger.forge(QUIT, "states.npy", npy(np.full_like(states, 7)))
    forger.forge(QUIT, "state_times.npy", npy(times + 1e-7))
    made = audit(home, share=1.0)
    assert [(check.name, check.status) for check in made.checks[:4]] == [(name, "passed") for name in CHECKS]
    assert [text[: text.index(" differs")] for text in findings(made, "replay")] == [
        "attempt 5: diverges between actions 1 and 50: digest",
        "attempt 8: diverges before the first action: state_times",
    ]


def test_an_altered_bit_under_another_fingerprint_leaves_the_audit_undecided(home: Path, forger: Forger) -> None:
    forger.forge(WALL, "actions.npy", forger.flip(WALL, 60, 30))
    for condition in (GOAL, WALL, QUIT):
        forger.record(condition, lambda record: record["fingerprint"].update(cpu_flags=["avx"]))
    forger.rehash()
    forger.refold()
    made = audit(home, share=1.0)
    remark = "not bit-exact: within tolerance on another processor"
    assert not made.passed
    assert made.checks[4].status == "undecided"
    assert made.remark.startswith("replay: 2 of 3 attempts the same, 1 diverged, ")
    assert made.remark.endswith(f", 1 {remark}")
    (doubt,) = findings(made, "replay", "doubt")
    assert doubt.startswith(f"attempt 5: {remark}: diverges between actions 51 and ")
    assert "attempt 2: another fingerprint (cpu_flags): bit-exact all the same" in findings(made, "replay", "note")
    assert pages.markdown(made).startswith("# Audit of test: UNDECIDED\n")
    assert "class='verdict undecided'>UNDECIDED<" in pages.page(made)


def test_a_float_beyond_the_exact_integers_is_read_as_it_was_written(home: Path, forger: Forger) -> None:
    numbers = [2.0**53, 2.0**60, 1e21, 1e300, -(2.0**70)]
    forger.record(GOAL, lambda record: record["evidence"].update(loads=numbers))
    forger.record(GOAL, lambda record: record["realized"].update(load=2.0**60))
    forger.rehash()
    forger.refold()
    made = audit(home)
    assert made.passed, [str(finding) for check in made.checks for finding in check.problems]


# ---- files that are none ---------------------------------------------------------------------------------------------
FILES: list[tuple[str, bytes, str]] = [
    ("states.npy", npy(np.float32(3)), "states.npy holds float32 (), not float32 of 2 dimensions"),
    ("states.npy", npy(np.zeros((3, 2))), "states.npy holds float64 (3, 2), not float32"),
    ("states.npy", npy(np.zeros((3, 2), np.float32)), "states.npy has 3 rows, state_times.npy"),
    ("states.npy", b"nothing", "states.npy cannot be read: "),
    ("state_times.npy", npy(np.zeros(0)), "state_times.npy 0 times"),
    ("state_times.npy", npy(np.zeros((2, 2))), "state_times.npy holds float64 (2, 2), not float64 of 1 dimension"),
    ("describe.json", b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "describe.json is nested"),
    ("describe.json", b'{"a":' + b"[" * 500 + b"]" * 500 + b"}", "describe.json is nested more than 64 levels"),
    ("describe.json", b"[]", "describe.json holds no object"),
    ("describe.json", b"{", "describe.json cannot be read: "),
    ("digests.json", b"[" * 100_000 + b"]" * 100_000, "digests.json is nested too deeply"),
    ("digests.json", b'[["0", "a"]]', "digests.json holds no list of [actions, digest]"),
    ("digests.json", b"{}", "digests.json holds no list of [actions, digest]"),
    ("actions.npy", npy(np.zeros(3)), "actions.npy holds float64 (3,), not float64 of 2 dimensions"),
]


def reading(folder: Path) -> str:
    with pytest.raises(CannotReplay) as caught:
        read(AttemptRecord.model_construct(realized={}), folder)
    return str(caught.value)


@pytest.mark.parametrize(("name", "content", "text"), FILES, ids=[f"{name} {text[-12:]}" for name, _, text in FILES])
def test_an_artifact_that_is_not_what_it_is_called_is_named(
    home: Path, forger: Forger, name: str, content: bytes, text: str
) -> None:
    forger.write(WALL, name, content)
    assert text in reading(forger.folder(WALL))


def test_state_times_that_are_not_finite_are_named(home: Path, forger: Forger) -> None:
    times = np.load(forger.folder(WALL) / "state_times.npy")
    forger.write(WALL, "state_times.npy", npy(times * np.nan))
    assert reading(forger.folder(WALL)) == "state_times.npy holds a time that is not finite"


def test_unreadable_artifacts_are_findings_of_their_attempts(home: Path, forger: Forger) -> None:
    forger.forge(WALL, "states.npy", npy(np.float32(3)))
    forger.forge(QUIT, "describe.json", b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}")
    found = findings(audit(home, share=1.0), "replay")
    assert [text[:40] for text in found] == [
        "attempt 5: cannot be replayed: states.np",
        "attempt 8: cannot be replayed: describe.",
    ]


# ---- links and pipes -------------------------------------------------------------------------------------------------
def test_a_link_or_a_pipe_in_the_place_of_a_folder_or_a_file_is_named_and_never_opened(
    home: Path, forger: Forger, tmp_path: Path
) -> None:
    folder = forger.folder(GOAL)
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    wall, gone = forger.folder(WALL), forger.folder(QUIT)
    os.mkfifo(wall / "extra")
    (wall / "pictures").symlink_to("/etc")
    (gone / "record.json").unlink()
    os.mkfifo(gone / "record.json")
    (gone / "actions.npy").rename(tmp_path / "actions.npy")
    (gone / "actions.npy").symlink_to(tmp_path / "actions.npy")
    odd = "is neither a regular file nor a folder (a link or a pipe)"
    assert findings(audit(home), "artifacts") == [
        "attempt 2: its folder is a link to another place",
        f"attempt 5: extra {odd}",
        f"attempt 5: pictures {odd}",
        f"attempt 8: actions.npy {odd}",
        f"attempt 8: record.json {odd}",
    ]
    assert reading(folder) == "its folder is a link to another place"
    assert reading(gone) == "actions.npy is no regular file"
    (wall / "describe.json").unlink()
    os.mkfifo(wall / "describe.json")
    assert reading(wall) == "describe.json is no regular file"


def test_two_images_of_one_role_are_named(home: Path, forger: Forger) -> None:
    def change(record: dict[str, Any]) -> None:
        record["images"].append(dict(record["images"][0]))

    forger.record(GOAL, change)
    forger.rehash()
    forger.refold()
    assert any("record.images names a role twice: slider, slider" in text for text in findings(audit(home), "rescore"))
