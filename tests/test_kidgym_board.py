"""KidGym's pages: tasks by level, capabilities, figures of others apart, and an episode step by step."""

from __future__ import annotations

import html
import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from kidgym_records import write_kidgym
from leaderboard_records import SUCCESS, twice, write_run
from PIL import Image
from test_cli import assay

from images.kidgym import png
from images.kidgym.draw import frame
from images.kidgym.episode import Episode
from leaderboard import episode, turns
from leaderboard.blocks import Block, Page, html_of
from leaderboard.board import Board
from leaderboard.export import export
from leaderboard.markup import Safe
from leaderboard.radar import MOST, Shape, radar
from leaderboard.ranking import Standing
from leaderboard.site import Detail, Found, Site, read_detail
from leaderboard.source import Attempt, attempts_of, judged
from leaderboard.turns import Turn
from leaderboard.views import compare, front, ranking, strips, suites
from leaderboard.views import turns as steps_view
from manifests.load import load
from runner.store.store import Store
from scoring.compare import compare as compare_runs
from scoring.flips import flips

CAPABILITIES = {"Execution", "Memory", "Learning", "Planning", "Perception Reasoning"}


# ---- pages ----------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    made = Store(tmp_path_factory.mktemp("kidgym"))
    write_kidgym(made, "large", 0.85, model="lab/large", kept=12)
    write_kidgym(made, "random", 0.0, model="random")
    write_kidgym(made, "thinking", 0.9, model="lab/large", mode="cot")
    yield made
    made.close()


@pytest.fixture(scope="module")
def site(store: Store) -> Site:
    return Site(store, Found(Board(None).refresh(store)), lambda run: read_detail(store, run))


def standing_of(site: Site, mode: str) -> Standing:
    return next(item for item in site.standings if item.setting.mode == mode)


def page_of(site: Site, mode: str = "zero-shot") -> Page:
    standing = standing_of(site, mode)
    return suites.build(standing, site.details(site.chosen(standing, [], 3)), site.siblings(standing))


def data(page: Page, name: str) -> list[dict[str, Any]]:
    (found,) = [block.data for block in page.blocks if block.data is not None and block.data.name.startswith(name)]
    return [dict(zip(found.columns, row, strict=True)) for row in found.rows]


def test_settings_never_share_a_table_and_a_reader_gets_from_one_to_the_other(site: Site) -> None:
    assert {item.setting.mode: {row.entry.run.name for row in item.rows} for item in site.standings} == {
        "zero-shot": {"large", "random"},
        "cot": {"thinking"},
    }
    first, second = standing_of(site, "zero-shot"), standing_of(site, "cot")
    assert [item.setting.mode for item in site.siblings(second)] == ["zero-shot", "cot"]
    assert f"setting={second.setting.id}" in html_of(page_of(site))
    assert f"setting={first.setting.id}" in html_of(page_of(site, "cot"))


def test_every_task_and_level_has_the_rate_that_scoring_gives(site: Site, store: Store) -> None:
    run = store.find_run("large")
    assert run is not None
    detail = read_detail(store, run)
    assert isinstance(detail, Detail)
    by = detail.entry.report["by"]
    shown = {(row["task"], row["level"]): row for row in data(page_of(site), "levels-") if row["run"] == "large"}
    assert len(shown) == 13 * 4
    for row in by["task"]:
        task, _, level = row["label"].rpartition("/")[2].partition("-")
        metric = row["metrics"]["pass_at_1"]
        assert shown[task, level]["percent"] == float(metric["balanced"]["percent"])
        assert (shown[task, level]["successes"], shown[task, level]["planned"]) == (metric["successes"], 5)
    assert shown["all", "all"]["successes"] == detail.entry.report["total"]["successes"]
    assert sum(shown["all", level]["successes"] for level in ("L1", "L2", "L3")) == shown["all", "all"]["successes"]


def test_capabilities_are_a_shape_and_a_table_of_the_same_rates(site: Site) -> None:
    page = page_of(site)
    rows = [row for row in data(page, "capability-") if row["run"] == "large"]
    assert {row["capability"] for row in rows} == CAPABILITIES
    (drawing,) = [block.drawing for block in page.blocks if block.drawing and block.drawing.name.startswith("capabil")]
    for row in rows:
        assert f"{row['capability']} {row['percent']:.0f} %" in drawing.alt
    assert ElementTree.fromstring(drawing.svg()).tag.endswith("svg")
    assert drawing.png().startswith(b"\x89PNG")


def test_a_shape_with_an_undefined_rate_has_a_gap_and_shapes_beyond_the_palette_are_left_to_the_table() -> None:
    whole = radar("r", "alt", ["a", "b", "c"], [Shape("one", (0.1, 0.2, 0.3))])
    gap = radar("r", "alt", ["a", "b", "c"], [Shape("one", (0.1, None, 0.3))])
    assert len(whole.marks) - len(gap.marks) == 4  # two lines, a dot and its number
    many = radar("r", "alt", ["a", "b", "c"], [Shape(str(index), (1.0, 1.0, 1.0)) for index in range(20)])
    assert sum(mark.kind == "dot" for mark in many.marks) == MOST * 4


def test_published_figures_stand_apart_marked_and_only_beside_their_own_setting(site: Site) -> None:
    shown = html_of(page_of(site))
    assert "Not measured here" in shown
    assert "Gemini-2.5 Pro" in shown
    thinking = html_of(page_of(site, "cot"))
    assert "Gemini-2.5 Pro" not in thinking
    assert "Random, exact" in thinking
    ranked = ranking.build([standing_of(site, "zero-shot")], [])
    assert [row["run"] for row in data(ranked, "ranking-")] == ["large", "random"]
    beside = data(ranked, "not-measured-")
    assert {row["origin"] for row in beside} == {"published", "computed"}
    assert len(beside) == 16
    printed = {(row["name"], row["task"], row["level"]): row["rate"] for row in data(page_of(site), "published-")}
    assert printed["o3", "MMA", 3] == 0.05


def test_two_runs_are_compared_by_episodes_with_no_column_that_is_never_defined(site: Site, store: Store) -> None:
    standing = standing_of(site, "zero-shot")
    first, second = (row.entry for row in standing.rows)
    one, two = judged(store, first), judged(store, second)
    pair = compare.Pair(first, second, compare_runs(one, two), flips(one, two, 1))
    shown = html_of(compare.build(standing, [first, second], [pair]))
    assert "resample the episodes of each task" in shown
    assert "episodes: " in shown
    assert "undefined" not in shown


def test_the_static_site_has_the_tasks_and_capabilities_and_the_figures_apart(site: Site, tmp_path: Path) -> None:
    files = export(site, tmp_path / "public")
    own = [name for name in files if name.startswith("suites-")]
    assert len(own) == 2
    shown = "".join((tmp_path / "public" / name).read_text(encoding="utf-8") for name in own)
    assert "Tasks and capabilities" in shown
    assert "Gemini-2.5 Pro" in shown
    assert {name.split("-")[0] for name in files if name.startswith("figures/")} >= {"figures/capabilities"}


# ---- an episode, step by step ---------------------------------------------------------------------------------------
def attempts(site: Site, store: Store, name: str) -> list[Attempt]:
    (entry,) = [item for item in site.entries if item.run.name == name]
    detail = site.details([entry])[0]
    return attempts_of(store, detail.entry, [row["sequence"] for row in detail.entry.report["attempts"]])


def steps_of(site: Site, store: Store, name: str, attempt: Attempt) -> tuple[list[Turn], str]:
    run = store.find_run(name)
    assert run is not None
    assert attempt.record is not None
    stored = episode.read(store, run, attempt.record)
    found = turns.turns(store, run, attempt.record, stored)
    blocks = steps_view.build(name, attempt.record, stored, found)
    return found, html_of(Page("Steps", tuple(b if isinstance(b, Block) else Block(b) for b in blocks)))


def test_an_episode_shows_pictures_options_choice_reply_and_both_decoders(site: Site, store: Store) -> None:
    for attempt in attempts(site, store, "large")[:12]:
        assert attempt.record is not None
        found, shown = steps_of(site, store, "large", attempt)
        code, level = attempt.record.environment_id.rpartition("/")[2].split("-L")
        played = Episode(code, int(level), attempt.record.condition)
        assert len(found) == attempt.record.actions
        for turn in found:
            assert turn.picture == png.encode(frame(played.scene, played.task.theme))
            assert turn.sent
            assert turn.options == tuple(option.action.text for option in played.options)
            played.choose(turn.taken)
        assert played.end == {"goal_met": "success", "violation": "wrong"}.get(attempt.record.cause, "steps")
        assert "Goal: " in shown
        assert shown.count("strict decoder, which counts") == shown.count("published text") == len(found)
        assert shown.count("data:image/png;base64,") == len(found)
        assert "<script>" not in shown
        assert "\x1b" not in shown


def test_where_the_two_decoders_read_differently_the_page_says_so(site: Site, store: Store) -> None:
    apart = [(a, t, s) for a in attempts(site, store, "large") for t, s in [steps_of(site, store, "large", a)]
             if any(turn.apart for turn in t)]  # fmt: skip
    assert apart  # 'Not B, but A' and 'A good choice is B' are among the replies
    for _, found, shown in apart:
        assert shown.count("they differ") == sum(turn.apart for turn in found)


def test_a_step_that_named_no_option_says_that_it_was_used_up(site: Site, store: Store) -> None:
    lost = [(t, s) for a in attempts(site, store, "large") for t, s in [steps_of(site, store, "large", a)]
            if any(turn.taken is None for turn in t)]  # fmt: skip
    assert lost
    found, shown = lost[0]
    assert shown.count("none taken") == sum(turn.taken is None for turn in found)
    assert "\\x1b[2J" in shown


def test_without_pictures_the_page_names_the_command_and_then_shows_what_it_has_drawn(site: Site, store: Store) -> None:
    attempt = attempts(site, store, "random")[0]
    run = store.find_run("random")
    assert run is not None
    assert attempt.record is not None
    found, shown = steps_of(site, store, "random", attempt)
    assert all(turn.picture is None and turn.reply is None for turn in found)
    assert "calls no model" in shown
    folder = turns.drawn_folder(store, run, attempt.record)
    assert f"assay episode random {attempt.record.sequence} --size 576 --stills {rendered('random')}" in shown
    folder.mkdir(parents=True)
    for index in range(len(found) + 1):
        (folder / f"state_{index:05d}.png").write_bytes(b"picture %d" % index)
    drawn, shown = steps_of(site, store, "random", attempt)
    assert [turn.picture for turn in drawn] == [b"picture %d" % index for index in range(len(found))]
    assert shown.count("<p><small>drawn from the recorded state</small></p>") == len(found) + 1
    assert drawn[-1].after == b"picture %d" % len(found)
    assert all(turn.after is None for turn in drawn[:-1])


def rendered(run: str) -> str:
    """The folder of what is drawn of a run, as HTML: where a shell puts it, whatever ASSAY_HOME is."""
    return f"&quot;${{ASSAY_HOME:-runs}}/{run}/rendered/&quot;"


def test_the_page_says_how_it_ended_and_how_the_picture_after_the_last_step_is_drawn(site: Site, store: Store) -> None:
    attempt = attempts(site, store, "large")[0]
    assert attempt.record is not None
    found, shown = steps_of(site, store, "large", attempt)
    end = shown[shown.index(f"After step {len(found)}") :]
    assert attempt.record.text in end
    assert f"assay episode large {attempt.record.sequence} --size 576 --stills {rendered('large')}" in end


@pytest.mark.parametrize("odd", [None, 7, "x", [], [3], [{}], [{"options": 3, "taken": "A", "strict": []}]])
def test_a_record_with_odd_steps_is_shown_as_far_as_it_makes_sense(site: Site, store: Store, odd: Any) -> None:
    attempt = attempts(site, store, "random")[1]
    assert attempt.record is not None
    odd_one = replace(attempt, record=attempt.record.model_copy(update={"evidence": {"choices": odd}}))
    found, shown = steps_of(site, store, "random", odd_one)
    assert len(found) <= 1
    assert shown


# ---- a hundred episodes of a task -----------------------------------------------------------------------------------
def test_a_hundred_conditions_are_a_strip_of_signs_that_lead_to_their_attempts(site: Site) -> None:
    entry = standing_of(site, "zero-shot").rows[0].entry
    states = ["success", "failure", "missing"]
    conditions = [{"condition": i, "state": states[i % 3], "reason": "as it was"} for i in range(100)]
    group = {"environment_id": "kidgym/grid/CL-L1", "suite": "CL", "conditions": conditions, "successes": 34,
             "planned": 100, "complete": False}  # fmt: skip
    made = [
        {"environment_id": "kidgym/grid/CL-L1", "condition": i, "sequence": 900 + i} for i in range(100) if i % 3 < 2
    ]
    whole = replace(entry, report={**entry.report, "attempts": made})
    block = strips.outcomes(whole, [group], [Safe("CL")])
    assert block.html.count('class="sign ') == 100
    assert block.html.count("attempt=") == len(made)
    assert "attempt=998" not in block.html.replace("attempt=999", "")  # condition 98 is missing
    assert block.data is not None
    assert len(block.data.rows) == 100
    assert strips.wide([4, 100])
    assert not strips.wide([4, 4])


def test_a_real_run_is_drawn_as_it_was_seen_and_shown_step_by_step(tmp_path: Path) -> None:
    choices = ["--board", "kidgym", "--subset", "kidgym-quick", "--tasks", "kidgym/grid/SE-L1", "--runtime", "process"]
    assay(tmp_path, "evaluate", "--model", "reference", *choices, "--run", "r", "--render", check=0)
    made = Store(tmp_path, read_only=True)
    site = Site(made, Found(Board(None).refresh(made)), lambda run: read_detail(made, run))
    found = attempts(site, made, "r")
    assert len(found) == 5
    for attempt in found:
        assert attempt.record is not None
        steps, shown = steps_of(site, made, "r", attempt)
        played = Episode("SE", 1, attempt.record.condition)
        for turn in steps:
            with Image.open(io.BytesIO(turn.picture or b"")) as picture:
                np.testing.assert_array_equal(np.asarray(picture), frame(played.scene, played.task.theme))
            played.choose(turn.taken)
        assert played.end == "success"
        assert played.task.goal in html.unescape(shown)
    made.close()


def test_the_front_page_tells_of_every_board(tmp_path: Path) -> None:
    both = Store(tmp_path)
    write_run(both, "robots", twice(SUCCESS), model="reference", tasks="marble/dual-panda/A007")
    write_kidgym(both, "grids", 0.9, model="lab/large")
    found = Site(both, Found(Board(None).refresh(both)), lambda run: read_detail(both, run))
    shown = html_of(front.build(found))
    assert "In other settings" in shown
    (other,) = {"ep", "kidgym"} - {found.standings[0].setting.board}
    assert f">{load().boards[other].title}</a></strong>: " in shown
    assert "lab/large" in shown
    assert "reference" in shown
    both.close()
