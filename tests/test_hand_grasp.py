"""The five-finger hand grasps a ring's handle by contact alone, and holds it under disturbance."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

from images.mujoco.hanoi.reference.agent import Player
from images.mujoco.workshop import episode as workshop
from images.reference.motion import Program, Terminated

PREFIX = {"fr3-sharpa": "hanoi_sharpa", "floating-sharpa": "hanoi_floating"}
PAIR = {"thumb_distal", "index_distal", "middle_distal"}
SMALLEST = 4
NOMINAL: dict[str, Any] = {
    "reset_seed": 0,
    "board_offset": [0.0, 0.0],
    "board_yaw": 0.0,
    "ring_azimuths": [0.0] * 5,
    "mass_factors": [1.0] * 5,
    "friction_factor": 1.0,
    "lighting": 1.0,
}


class Bench:
    """A board in this process with the reference's tool before it. Steps are those of an agent; only ``push`` is a hand
    of the test."""

    def __init__(self, robot: str, case: str = "H01") -> None:
        name = f"{PREFIX[robot]}/{robot}/{case}"
        self.client = workshop.Episode(
            workshop.start(name, 0, NOMINAL, "default", {"actions": 18000, "simulated_s": 600.0})
        )
        self.player = Player(self.client, self.client.describe(), lambda _: None)
        self.tool, self.table = self.player.tool, self.player.table
        self.environment = cast("Any", self.client.environment)
        plant = self.environment.plant
        self.model, self.data = plant.model, plant.data

    def run(self, program: Program) -> Any:
        found = self.player.crew.run({self.tool.name: program})[self.tool.name]
        self.player.crew.sense()
        return found

    def pick(self, ring: int) -> bool:
        self.player.crew.sense()
        return bool(self.run(self.player.mover._pick(ring)))

    def centre(self, ring: int) -> np.ndarray:
        self.player.crew.sense()
        return self.table.centre(ring).copy()

    def tilt(self, ring: int) -> float:
        """Degrees off level."""
        self.player.crew.sense()
        return float(np.degrees(np.arccos(min(1.0, self.table.rotation(ring)[2, 2]))))

    def push(self, ring: int, force: list[float], seconds: float) -> None:
        """A force (N) on the ring's middle while the hand holds still."""
        body = self.model.body(f"ring_{ring + 1}").id
        self.data.xfrc_applied[body, :3] = force
        self.run(self.tool.hold(seconds))
        self.data.xfrc_applied[body] = 0.0
        self.run(self.tool.hold(0.2))

    def touching(self, ring: int) -> set[str]:
        """Bodies that touch the ring."""
        own = self.model.body(f"ring_{ring + 1}").id
        pairs = self.model.geom_bodyid[self.data.contact.geom].reshape(-1, 2)
        return {self.model.body(int(b)).name for pair in pairs if own in pair for b in pair if b != own}


@pytest.fixture(params=sorted(PREFIX))
def bench(request: pytest.FixtureRequest) -> Bench:
    return Bench(request.param)


def test_a_lifted_ring_is_held_by_thumb_index_and_middle_fingertip_alone(bench: Bench) -> None:
    assert bench.pick(SMALLEST)
    assert bench.touching(SMALLEST) == PAIR
    before = bench.centre(SMALLEST)
    bench.run(bench.tool.hold(3.0))
    assert bench.touching(SMALLEST) == PAIR
    assert np.abs(bench.centre(SMALLEST) - before).max() < 0.002
    assert bench.tilt(SMALLEST) < 3.0


@pytest.mark.parametrize("force", [[2, 0, 0], [-2, 0, 0], [0, 2, 0], [0, -2, 0], [0, 0, -2], [0, 0, 2]])
def test_the_grasp_holds_when_the_ring_is_pushed_with_three_times_its_weight(bench: Bench, force: list[float]) -> None:
    assert bench.pick(SMALLEST)
    before = bench.centre(SMALLEST)
    bench.push(SMALLEST, [float(f) for f in force], 0.3)
    assert bench.touching(SMALLEST) == PAIR
    assert np.linalg.norm(bench.centre(SMALLEST) - before) < 0.006


def test_nothing_but_the_grasp_keeps_a_ring_in_the_air(bench: Bench) -> None:
    """Opening the fingers lets it fall at once, freely: it is lost."""
    assert bench.pick(SMALLEST)
    assert bench.model.neq == 0
    assert bench.model.body_gravcomp[bench.model.body("ring_5").id] == 0
    high = bench.data.body("ring_5").xpos[2]
    with pytest.raises(Terminated, match="H-60: ring_5"):
        bench.run(bench.tool.open())
    assert bench.environment.evaluator.touched >> SMALLEST & 1 == 0
    assert bench.data.body("ring_5").xpos[2] < high - 0.002


@pytest.mark.parametrize("robot", sorted(PREFIX))
@pytest.mark.parametrize(("case", "what"), [("H18", "0.2 kg"), ("H23", "slippery"), ("H25", "a turned handle")])
def test_heavy_slippery_and_turned_handles_are_held_too(robot: str, case: str, what: str) -> None:
    bench = Bench(robot, case)
    assert bench.pick(SMALLEST), what
    before = bench.centre(SMALLEST)
    bench.run(bench.tool.hold(2.0))
    assert bench.touching(SMALLEST) == PAIR, what
    assert np.abs(bench.centre(SMALLEST) - before).max() < 0.004


@pytest.mark.parametrize("robot", sorted(PREFIX))
def test_the_tool_goes_where_it_is_commanded(robot: str) -> None:
    """The commanded grasp point is where the fingertips' middle really is, once the lag is over."""
    bench = Bench(robot)
    bench.run(bench.tool.open())
    goal = np.array([0.45, 0.1, 0.4])
    bench.run(bench.tool.line(goal, 1.0, bench.tool.over(2.8)))
    bench.run(bench.tool.hold(0.5))
    tips = dict(
        zip(("thumb", "index", "middle"), bench.client.observe(["fingertips"]).fields["fingertips"][:3], strict=True)
    )
    middle = (tips["thumb"] + (tips["index"] + tips["middle"]) / 2) / 2
    assert middle == pytest.approx(goal, abs=0.001)
    across = tips["thumb"] - (tips["index"] + tips["middle"]) / 2
    assert (
        abs(float(across @ [np.cos(2.8), np.sin(2.8), 0.0])) < 0.001
    )  # the handle's long axis stands across the pinch
