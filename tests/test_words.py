"""What people read fits: nouns to numbers, times, tables in narrow, wide and dumb terminals, no name cut."""

from __future__ import annotations

from pathlib import Path

import pexpect
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_cli import ASSAY, assay

from runner.words import clock, count, fitting

DEMO = str(Path(__file__).parent.parent / "manifests" / "demo" / "gpt-6-astra.csv")
NAME = "a-run-with-a-name-as-long-as-those-made-from-settings"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    choices = ["--kind", "reconstructed", "--subset", "ep-100", "--protocol", "pass2"]
    assay(folder, "ledger", "import", DEMO, "--name", NAME, *choices, check=0)
    return folder


def terminal(home: Path, columns: int, term: str, *arguments: str, **variables: str) -> str:
    """What a terminal of that kind and width shows."""
    environment = {"ASSAY_HOME": str(home), "PATH": "/usr/bin:/bin", "TERM": term, **variables}
    child = pexpect.spawn(
        ASSAY[0], [*ASSAY[1:], *arguments], env=environment, dimensions=(50, columns), encoding="utf-8", timeout=60
    )
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    return str(child.before).replace("\r\n", "\n")


def test_a_noun_is_that_of_its_number() -> None:
    assert [count(number, "entry") for number in (0, 1, 2)] == ["0 entries", "1 entry", "2 entries"]
    assert count(1234, "note") == "1,234 notes"
    assert [count(2, what) for what in ("success", "key", "suffix", "open candidate")] == [
        "2 successes",
        "2 keys",
        "2 suffixes",
        "2 open candidates",
    ]


def test_a_time_is_written_as_a_clock_shows_it() -> None:
    assert [clock(seconds) for seconds in (3.4, 61, 3723)] == ["3 s", "1:01", "1:02:03"]


@given(st.dictionaries(st.text("abcdef", min_size=1), st.integers(1, 40), min_size=1, max_size=8), st.integers(1, 200))
def test_columns_are_given_up_only_for_want_of_room_and_in_order(widths: dict[str, int], room: int) -> None:
    less = list(widths)[1:]
    kept = fitting(widths, room, less)
    dropped = [name for name in less if name not in kept]
    assert kept[0] == next(iter(widths))
    assert dropped == less[: len(dropped)]
    size = sum(widths[name] for name in kept) + 2 * (len(kept) - 1)
    assert size <= room or len(kept) == 1
    if dropped:
        assert size + widths[dropped[-1]] + 2 > room


@pytest.mark.parametrize("term", ["xterm", "dumb"])
@pytest.mark.parametrize("columns", [80, 160])
def test_runs_and_tasks_fit_the_terminal_and_cut_no_name(home: Path, columns: int, term: str) -> None:
    runs = terminal(home, columns, term, "runs", NO_COLOR="1")
    tasks = terminal(home, columns, term, "tasks", "--subset", "ep-100", NO_COLOR="1")
    if term == "dumb":
        assert "\x1b" not in runs + tasks
        assert max(map(len, (runs + tasks).splitlines())) <= columns
    assert NAME in runs
    assert "reconstructed" in runs  # what must be known of a run is said in every width
    assert ("created (UTC)" in runs) == (columns == 160)
    assert "hanoi_floating/floating-sharpa/H02" in tasks
    assert "Far target before near target" in tasks
    assert ("Launch-26" in tasks) == (columns == 160)


def test_no_color_means_no_colour(home: Path) -> None:
    assert "\x1b[3" not in terminal(home, 100, "xterm", "score", NAME, NO_COLOR="1")
    assert "\x1b[3" in terminal(home, 100, "xterm", "score", NAME)
