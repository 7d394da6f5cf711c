"""The forty boards: titles, levels and shortest solutions, the ten groups, and what a board file may not say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

from images.mujoco.embodiments import embodiment
from images.mujoco.hanoi import board as boards
from images.mujoco.hanoi import geometry as g
from images.mujoco.hanoi.board import MOVES, THEMES, Board, BoardError
from images.mujoco.hanoi.model import Compiled, compile_board, realize, ring
from images.mujoco.hanoi.reference.planner import after, legal, shortest
from images.mujoco.workshop.episode import MANIFESTS
from manifests.load import load

CASES = boards.cases()
BOARDS = {case: boards.load(case) for case in CASES}
CATALOG = [entry for entry in load().environments.values() if entry.family == "hanoi"]
NOMINAL: dict[str, Any] = {
    "reset_seed": 0,
    "board_offset": [0.0, 0.0],
    "board_yaw": 0.0,
    "ring_azimuths": [0.0] * 5,
    "mass_factors": [1.0] * 5,
    "friction_factor": 1.0,
    "lighting": 1.0,
}
STANDARD = BOARDS["H01"]


def group(number: int) -> list[Board]:
    """The four boards of a group, from level 1."""
    return [BOARDS[f"H{4 * number + level:02}"] for level in range(1, 5)]


def compiled(board: Board, **condition: Any) -> Compiled:
    return compile_board(board, realize(board, NOMINAL | condition), embodiment("panda"))


def distance(start: str, goal: str) -> int:
    """Moves of the shortest legal solution, by growing the set of arrangements that can be reached. A second search,
    independent of the planner's: an arrangement is a set of piles."""

    def grown(piles: tuple[str, ...]) -> set[tuple[str, ...]]:
        found = set()
        for source, pile in enumerate(piles):
            for target, onto in enumerate(piles):
                if source != target and pile and (not onto or onto[-1] < pile[-1]):
                    new = list(piles)
                    new[source], new[target] = pile[:-1], onto + pile[-1]
                    found.add(tuple(new))
        return found

    def piles(arrangement: str) -> tuple[str, ...]:
        return tuple("".join(str(i) for i, peg in enumerate(arrangement) if peg == letter) for letter in g.PEGS)

    front, seen, moves = {piles(start)}, {piles(start)}, 0
    while piles(goal) not in seen:
        front = {new for old in front for new in grown(old)} - seen
        seen |= front
        moves += 1
    return moves


@pytest.mark.parametrize("case", CASES)
def test_the_shortest_legal_solution_has_the_length_of_the_level(case: str) -> None:
    board = BOARDS[case]
    assert distance(board.start, board.goal) == MOVES[board.level] == board.moves


def test_levels_are_1_3_9_and_31_moves() -> None:
    assert MOVES == {1: 1, 2: 3, 3: 9, 4: 31}


@pytest.mark.parametrize("case", CASES)
def test_the_planner_finds_a_shortest_solution_of_legal_moves(case: str) -> None:
    board = BOARDS[case]
    start, goal = (tuple(g.PEGS.index(letter) for letter in text) for text in (board.start, board.goal))
    plan = shortest(start, goal)
    assert len(plan) == board.moves
    for move in plan:
        assert move in set(legal(start))
        start = after(start, move)
    assert start == goal


def test_there_are_forty_boards_in_ten_groups_of_four_levels() -> None:
    assert [f"H{number:02}" for number in range(1, 41)] == CASES
    for number, theme in enumerate(THEMES):
        assert [(board.theme, board.level) for board in group(number)] == [(theme, level) for level in (1, 2, 3, 4)]


def test_boards_have_the_levels_of_the_catalog_and_the_titles_of_ep100() -> None:
    assert len(CATALOG) == 120
    for entry in CATALOG:
        board = BOARDS[entry.case]
        assert str(board.level) == entry.native_level
        assert entry.title in (None, board.title)
    assert len({board.title for board in BOARDS.values()}) == 40


# ---- what a group varies is really there ---------------------------------------------------------------------------
def test_a_group_varies_what_its_theme_says_and_the_combined_group_several_things() -> None:
    varied = {
        1: "planar layout",
        2: "support height",
        3: "insertion clearance",
        4: "mass distribution",
        6: "handle orientation",
        7: "path obstacles",
        8: "peg length",
    }
    for number, theme in varied.items():
        assert THEMES[number] == theme
        assert all(theme in differences(board) for board in group(number)), theme
    assert not any(differences(board) for board in group(0))
    assert [("friction" in differences(board)) for board in group(5)] == [True, False, True, True]
    assert all(len(differences(board)) >= 3 for board in group(9))


def test_no_two_boards_are_the_same_but_for_what_is_written_about_them() -> None:
    said = {"case", "title", "brief", "theme", "level"}
    kept = {case: board.model_dump_json(exclude=said) for case, board in BOARDS.items()}
    assert len(set(kept.values())) == len(BOARDS)


def differences(board: Board) -> set[str]:
    """In which respects the board is not the standard one."""
    found = set()
    if [peg.at for peg in board.pegs] != [peg.at for peg in STANDARD.pegs]:
        found.add("planar layout")
    if [peg.support for peg in board.pegs] != [peg.support for peg in STANDARD.pegs]:
        found.add("support height")
    if [peg.length for peg in board.pegs] != [peg.length for peg in STANDARD.pegs]:
        found.add("peg length")
    if board.barriers:
        found.add("path obstacles")
    for name, theme in (
        ("clearances", "insertion clearance"),
        ("masses", "mass distribution"),
        ("frictions", "friction"),
        ("handle_yaws", "handle orientation"),
    ):
        if getattr(board, name) != getattr(STANDARD, name):
            found.add(theme)
    return found


@pytest.mark.parametrize("case", ["H01", "H08", "H12", "H16", "H20", "H24", "H28", "H32", "H36", "H40"])
def test_the_model_has_the_parameters_of_the_board(case: str) -> None:
    board = BOARDS[case]
    model = compiled(board).model
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    for letter, peg in zip(g.PEGS, board.pegs, strict=True):
        axis = data.body(f"peg_{letter}").xpos
        assert axis == pytest.approx([*peg.at, peg.support])
        shaft = model.geom(int(model.body(f"peg_{letter}").geomadr[0]))
        assert 2 * shaft.size[1] + g.PEG_RADIUS == pytest.approx(peg.length)
    for index in range(g.RINGS):
        body = model.body(ring(index))
        assert body.mass == pytest.approx(board.masses[index], rel=1e-6)
        geoms = range(int(body.geomadr[0]), int(body.geomadr[0] + body.geomnum[0]))
        assert [model.geom_friction[i][0] for i in geoms] == pytest.approx([board.frictions[index]] * len(geoms))
        assert hole(model, index) == pytest.approx(g.PEG_RADIUS + board.clearances[index], abs=1e-6)
        handle = model.geom(f"handle_{index + 1}")
        assert handle.pos[0] == pytest.approx(g.RADII[index] + board.handle_reach)
        yaw = 2 * np.degrees(np.arctan2(handle.quat[3], handle.quat[0]))
        assert yaw == pytest.approx(board.handle_yaws[index], abs=1e-6)
    names = {model.body(i).name for i in range(model.nbody)}
    assert {barrier.name for barrier in board.barriers} <= names


def hole(model: Any, index: int) -> float:
    """Distance from a ring's axis to the walls of its hole."""
    body = model.body(ring(index))
    wall = model.geom(int(body.geomadr[0]))
    return float(wall.pos[0] - wall.size[0])


def test_a_condition_moves_turns_and_weighs_the_board_within_its_bounds() -> None:
    board = BOARDS["H29"]
    model = compiled(
        board,
        board_offset=[0.012, -0.006],
        board_yaw=3.0,
        ring_azimuths=[12.0, 0.0, 0.0, 0.0, -12.0],
        mass_factors=[1.2, 1.0, 1.0, 1.0, 0.8],
        friction_factor=0.8,
    ).model
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    a, b = data.body("peg_A").xpos, data.body("peg_B").xpos
    assert b[:2] == pytest.approx([0.512, -0.006])
    assert np.degrees(np.arctan2(*(a - b)[1::-1])) == pytest.approx(93.0)
    assert np.linalg.norm(a - b) == pytest.approx(0.18)
    wall = data.body("wall")
    assert np.degrees(np.arctan2(wall.xmat[3], wall.xmat[0])) == pytest.approx(3.0)
    azimuths = [np.degrees(np.arctan2(data.body(ring(i)).xmat[3], data.body(ring(i)).xmat[0])) for i in (0, 4)]
    assert np.array(azimuths) % 360 == pytest.approx([195.0, 171.0])
    assert model.body("ring_1").mass[0] == pytest.approx(1.2 * 0.16)
    assert model.body("ring_5").mass[0] == pytest.approx(0.8 * 0.06)
    assert model.geom("handle_3").friction[0] == pytest.approx(0.8 * 0.8)


def test_the_scene_is_plain_mjcf_without_welds_sensors_or_keyframes() -> None:
    for name in ("panda", "fr3-sharpa", "floating-sharpa"):
        model = compile_board(STANDARD, realize(STANDARD, NOMINAL), embodiment(name)).model
        assert model.nsensor == 0
        assert model.nkey == 0
        assert model.nplugin == 0
        assert not (np.asarray(model.eq_type) == mujoco.mjtEq.mjEQ_WELD).any()


# ---- what is refused -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"colour": "red"}, "colour: Extra inputs are not permitted"),
        ({"start": "AAAA"}, "start: String should match pattern"),
        ({"goal": "AAAAA"}, "goal: 'AAAAA' is the start"),
        ({"masses": [0.1, 0.1, 0.1, 0.1]}, "masses.4: Field required"),
        ({"clearances": [0.0001] * 5}, "clearances.0: Input should be greater than or equal to 0.0008"),
        ({"handle_yaws": [30, 0, 0, 0, 0]}, "handle_reach: turned handles need 0.032 m"),
        ({"pegs": [{"at": [0.5, 0.18]}, {"at": [0.5, 0.1]}, {"at": [0.5, -0.18]}]}, "the supports of A and B overlap"),
        ({"pegs": [{"at": [0.9, 0.18]}, {"at": [0.5, 0]}, {"at": [0.5, -0.18]}]}, "pegs.A.at: [0.9, 0.18] is outside"),
        (
            {"barriers": [{"name": "wall", "at": [0.5, 0.1], "size": [0.1, 0.02, 0.2]}]},
            "barriers.wall: it meets the largest ring on peg A",
        ),
        (
            {
                "barriers": [
                    {"name": f"wall_{'ab'[i]}", "at": [0.7, 0.3 + i / 100], "size": [0.1, 0.02, 0.2]} for i in (0, 1)
                ]
            },
            "barriers: wall_a and wall_b overlap",
        ),
        (
            {"barriers": [{"name": "wall", "at": [0.0, 0.0], "size": [0.1, 0.1, 0.2]}]},
            "barriers.wall.at: [0.0, 0.0] is",
        ),
        ({"level": 5}, "level: Input should be less than or equal to 4"),
        ({"level": 2}, "theme, level: H01 is level 1 of 'state decomposition'"),
        ({"theme": "friction"}, "theme, level: H01 is level 1 of 'state decomposition'"),
        ({"case": "H41"}, "case: 'H41' is not H01 to H40"),
        ({"goal": "AAABC"}, "goal: 2 moves from the start, and level 1 has 1"),
        ({"level": "1"}, "level: Input should be a valid integer"),
        ({"level": True}, "level: Input should be a valid integer"),
        ({"version": True}, "version: Input should be a valid integer"),
        ({"masses": ["0.1", 0.1, 0.1, 0.1, 0.1]}, "masses.0: Input should be a valid number"),
        ({"title": "   "}, "title: String should match pattern"),
    ],
)
def test_a_board_that_does_not_fit_is_refused_with_key_and_value(changes: dict[str, Any], text: str) -> None:
    content = STANDARD.model_dump(mode="json") | changes
    with pytest.raises(BoardError) as refused:
        boards.parse(json.dumps(content), "H01.json")
    assert text in str(refused.value)
    assert str(refused.value).startswith("H01.json: ")


LONG_HANDLES = {"handle_reach": 0.045, "start": "ABBBB", "goal": "ABBBC",
                "pegs": [{"at": [0.512, 0]}, {"at": [0.36, 0]}, {"at": [0.5, -0.2]}]}  # fmt: skip


@pytest.mark.parametrize("robot", ["panda", "fr3-sharpa", "floating-sharpa"])
@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (
            {"barriers": [{"name": "wall", "at": [0.41, 0.18], "size": [0.01, 0.03, 0.1]}]},
            r"wall and ring_\d overlap by \d+\.\d mm at the start",
        ),
        (LONG_HANDLES, r"ring_\d and ring_\d overlap by \d+\.\d mm at the start"),
        (
            {"barriers": [{"name": "floor", "at": [0.7, 0.3], "size": [0.01, 0.03, 0.1]}]},
            "barriers: the robot or the scene has a part 'floor'; give the barrier another name",
        ),
    ],
)
def test_what_only_the_built_board_shows_is_refused_too(changes: dict[str, Any], text: str, robot: str) -> None:
    found = boards.parse(json.dumps(STANDARD.model_dump(mode="json") | changes), "H01.json")
    with pytest.raises(BoardError, match=rf"^H01 with {robot}: {text}$"):
        compile_board(found, realize(found, NOMINAL), embodiment(robot))


@pytest.mark.parametrize("robot", ["panda", "fr3-sharpa"])
def test_a_barrier_that_reaches_into_the_robot_is_refused(robot: str) -> None:
    wall = {"name": "wall", "at": [0.25, 0], "size": [0.5, 0.02, 0.3]}
    pegs = [{"at": [0.64, 0.18]}, {"at": [0.64, 0]}, {"at": [0.64, -0.18]}]
    content = STANDARD.model_dump(mode="json") | {"barriers": [wall], "pegs": pegs}
    found = boards.parse(json.dumps(content), "H01.json")
    with pytest.raises(BoardError, match=rf"^H01 with {robot}: (wall and \w+|\w+ and wall) overlap by "):
        compile_board(found, realize(found, NOMINAL), embodiment(robot))


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"lighting": float("nan")}, "condition.parameters.lighting: nan is not a number from 0.85 to 1.15"),
        ({"board_offset": [0.013, 0]}, "parameters.board_offset: [0.013, 0] is not 2 lengths of at most 0.012 m"),
        ({"ring_azimuths": [1, 2]}, "condition.parameters.ring_azimuths: [1, 2] is not 5 angles of at most 12 degrees"),
        ({"reset_seed": 0.5}, "condition.parameters.reset_seed: 0.5 is not an integer from 0 to 2147483648"),
        ({"wind": 1}, "condition.parameters.wind is unknown"),
    ],
)
def test_a_condition_that_does_not_fit_is_refused_with_key_and_value(changes: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError) as refused:  # noqa: PT011
        realize(STANDARD, NOMINAL | changes)
    assert text in str(refused.value)


FACTORS = json.loads((MANIFESTS / "conditions.json").read_text(encoding="utf-8"))["families"]["hanoi"]["factors"]
RANGES = {name: rule for name, rule in FACTORS.items() if "low" in rule}


@pytest.mark.parametrize("name", RANGES)
@pytest.mark.parametrize("end", ["low", "high"])
def test_a_condition_goes_to_the_ends_of_its_disclosed_ranges_and_no_further(name: str, end: str) -> None:
    rule = RANGES[name]

    def condition(value: float) -> dict[str, Any]:
        return NOMINAL | {name: [value] * rule["size"] if "size" in rule else value}

    realize(STANDARD, condition(rule[end]))
    with pytest.raises(ValueError, match=f"^condition.parameters.{name}: "):
        realize(STANDARD, condition(rule[end] + rule["step"] * (1 if end == "high" else -1)))


def test_a_file_that_is_named_as_another_case_or_is_no_text_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "H05.json").write_bytes((boards.BOARDS / "H01.json").read_bytes())
    (tmp_path / "H06.json").write_bytes(b"\xff\xfe")
    monkeypatch.setattr(boards, "BOARDS", tmp_path)
    with pytest.raises(BoardError, match=r"^H05.json: case: a file is named as its case \(value 'H01'\)$"):
        boards.load("H05")
    with pytest.raises(BoardError, match=r"^H06.json: not UTF-8: invalid start byte at byte 0$"):
        boards.load("H06")


def test_an_unknown_case_names_those_that_exist() -> None:
    with pytest.raises(BoardError, match=r"Hanoi case 'H41' has no board; there are: H01, H02"):
        boards.load("H41")
