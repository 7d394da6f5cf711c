"""One MuJoCo model from a board, its realized initial condition and a robot.

Everything is plain MJCF: no welds, sensors or keyframes, so that the scene can be exported as it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import mujoco

from images.mujoco import cameras, conditions, physics, render, surroundings
from images.mujoco.embodiment import Embodiment
from images.mujoco.hanoi import geometry as g
from images.mujoco.hanoi import letters, look
from images.mujoco.hanoi.board import Board, BoardError

OVERLAP = 0.0005  # m: nothing may start deeper in something else than this
SPAWN_GAP = 0.0002  # m: rings start this far above what they will lie on
BITS = 'contype="1" conaffinity="33"'


@dataclass(frozen=True)
class Realized:
    """What a condition makes of a board: its displacement (x, y; m) and turn (rad), azimuths of the rings' handles
    (rad), masses (kg) and friction of the rings, and the light as a factor."""

    offset: tuple[float, float]
    yaw: float
    azimuths: tuple[float, ...]
    masses: tuple[float, ...]
    frictions: tuple[float, ...]
    lighting: float

    def place(self, at: tuple[float, float]) -> tuple[float, float]:
        """Where a point (x, y) of the authored board is: the board turns about its middle and is displaced."""
        x, y = at[0] - g.CENTRE[0], at[1] - g.CENTRE[1]
        c, s = math.cos(self.yaw), math.sin(self.yaw)
        return g.CENTRE[0] + c * x - s * y + self.offset[0], g.CENTRE[1] + s * x + c * y + self.offset[1]


@dataclass
class Compiled:
    """``model`` is owned by one episode."""

    model: Any
    board: Board
    realized: Realized
    robot: Embodiment


def realize(board: Board, parameters: dict[str, Any]) -> Realized:
    """The initial condition from ``spec["condition"]["parameters"]``, within those of ``manifests/conditions.json``.
    Raises ValueError naming key and value."""
    factor = (0.8, 1.2)
    conditions.check(
        parameters,
        {"reset_seed": (0, 2**31), "board_yaw": (-3, 3), "friction_factor": factor, "lighting": (0.85, 1.15)},
        {
            "board_offset": (2, -0.012, 0.012, "lengths of at most 0.012 m"),
            "ring_azimuths": (g.RINGS, -12, 12, "angles of at most 12 degrees"),
            "mass_factors": (g.RINGS, *factor, "factors from 0.8 to 1.2"),
        },
        {},
        whole=("reset_seed",),
    )
    x, y = (float(v) for v in parameters["board_offset"])
    yaw, friction = math.radians(parameters["board_yaw"]), float(parameters["friction_factor"])
    turned = g.HANDLE_AZIMUTH + yaw
    return Realized(
        offset=(x, y),
        yaw=yaw,
        azimuths=tuple(turned + math.radians(angle) for angle in parameters["ring_azimuths"]),
        masses=tuple(m * float(f) for m, f in zip(board.masses, parameters["mass_factors"], strict=True)),
        frictions=tuple(mu * friction for mu in board.frictions),
        lighting=float(parameters["lighting"]),
    )


def ring(index: int) -> str:
    """Body name of a ring, the largest first."""
    return f"ring_{index + 1}"


def heights(board: Board, arrangement: str) -> list[float]:
    """Height (m) of each ring's middle in an arrangement."""
    piled = dict.fromkeys(g.PEGS, 0)
    out = []
    for letter in arrangement:
        support = board.pegs[g.PEGS.index(letter)].support
        out.append(support + g.RING_HEIGHT * (piled[letter] + 0.5))
        piled[letter] += 1
    return out


def _ring(board: Board, realized: Realized, index: int, height: float) -> str:
    """Six boxes around a hexagonal hole, three feet below, neck and handle. Sides and handle keep clear of the rings
    above and below: only feet bear."""
    outer, inner = g.RADII[index], g.PEG_RADIUS + board.clearances[index]
    peg = board.pegs[g.PEGS.index(board.start[index])]
    x, y = realized.place(peg.at)
    z = realized.azimuths[index]
    mass, name = realized.masses[index], ring(index)
    surface = f'friction="{realized.frictions[index]:.6g} .005 .0001" priority="1" material="{name}" {BITS}'
    out = [
        f'<body name="{name}" pos="{x:.9g} {y:.9g} {height + SPAWN_GAP * (index + 1):.9g}" '
        f'quat="{math.cos(z / 2):.12g} 0 0 {math.sin(z / 2):.12g}"><freejoint name="{name}"/>'
    ]
    middle, half = (outer + inner) / 2, (g.RING_HEIGHT - g.FOOT_GAP) / 2
    for side in range(6):
        a = side * math.pi / 3
        place = (
            f'type="box" pos="{middle * math.cos(a):.9g} {middle * math.sin(a):.9g} {g.FOOT_GAP / 2:.9g}" '
            f'euler="0 0 {a:.12g}" size="{(outer - inner) / 2:.9g} {outer * math.tan(math.pi / 6):.9g}'
        )
        out.append(f'<geom {place} {half:.9g}" mass="{0.15 * mass:.9g}" condim="4" group="3" {surface}/>')
        out.append(f'<site {place} {half - side * look.STEP:.9g}" material="{name}" group="{render.DRAWN}"/>')
        if side % 2 == 0:
            reach = g.FOOT_SHARE * outer
            out.append(
                f'<geom type="sphere" size="{g.FOOT_RADIUS}" pos="{reach * math.cos(a):.9g} '
                f'{reach * math.sin(a):.9g} {g.FOOT_RADIUS - g.RING_HEIGHT / 2:.9g}" mass="0" condim="3" {surface}/>'
            )
    out.append(_handle(board, index, surface, 0.1 * mass))
    return "".join(out) + "</body>"


def _handle(board: Board, index: int, surface: str, mass: float) -> str:
    """The handle and, where it stands off, the neck that carries it."""
    length, width, height = (v / 2 for v in g.HANDLE)
    reach, yaw = board.handle_reach, math.radians(board.handle_yaws[index])
    out = (
        f'<geom name="handle_{index + 1}" type="box" size="{length:.9g} {width:.9g} {height:.9g}" '
        f'pos="{g.RADII[index] + reach:.9g} 0 0" euler="0 0 {yaw:.12g}" mass="{mass:.9g}" condim="4" {surface}/>'
    )
    if reach > length:
        out += (
            f'<geom type="box" size="{reach / 2:.9g} {g.NECK_WIDTH / 2:.9g} {0.6 * height:.9g}" '
            f'pos="{g.RADII[index] + reach / 2:.9g} 0 0" mass="0" condim="3" {surface}/>'
        )
    return out


def _furniture(board: Board, realized: Realized) -> str:
    """Supports, pegs and barriers, each a body of its own name that does not move."""
    turn = f'euler="0 0 {realized.yaw:.12g}"'
    out = []
    for letter, peg in zip(g.PEGS, board.pegs, strict=True):
        x, y = realized.place(peg.at)
        top = peg.length - g.PEG_RADIUS
        out.append(
            f'<body name="support_{letter}" pos="{x:.9g} {y:.9g} 0" {turn}><geom type="box" material="support" '
            f'size="{g.SUPPORT_HALF} {g.SUPPORT_HALF} {peg.support / 2:.9g}" pos="0 0 {peg.support / 2:.9g}" {BITS}/>'
            f"{letters.sites(letter)}</body>"
            f'<body name="peg_{letter}" pos="{x:.9g} {y:.9g} {peg.support:.9g}"><geom type="capsule" material="peg" '
            f'size="{g.PEG_RADIUS}" fromto="0 0 0 0 0 {top:.9g}" friction="{g.PEG_FRICTION} .005 .0001" priority="2" '
            f'condim="3" {BITS}/></body>'
        )
    for barrier in board.barriers:
        x, y = realized.place(barrier.at)
        size = " ".join(f"{v / 2:.9g}" for v in barrier.size)
        out.append(
            f'<body name="{barrier.name}" pos="{x:.9g} {y:.9g} {barrier.size[2] / 2:.9g}" {turn}>'
            f'<geom type="box" material="barrier" size="{size}" {BITS}/></body>'
        )
    return "".join(out)


def mjcf(board: Board, realized: Realized, robot: Embodiment) -> str:
    """The whole model as MJCF."""
    made = robot.mjcf(cameras.mounted(look.WRIST, robot.wrist))
    rings = "".join(_ring(board, realized, i, height) for i, height in enumerate(heights(board, board.start)))
    return f"""<mujoco model="hanoi">
<compiler angle="radian"/>
<option timestep="{g.TIMESTEP:.12g}" integrator="implicitfast" cone="elliptic"
 impratio="{robot.impratio}" solver="Newton"><flag sleep="enable"/></option>
<statistic center=".4 0 .2" extent="1.2"/>
<visual>{look.visual(realized.lighting)}</visual>
<default><geom solref=".005 1" solimp=".95 .99 .001"/>{made.defaults}</default>
<asset>{look.assets()}{made.assets}</asset>
<worldbody>{look.lights(realized.lighting)}{look.cameras()}
<body name="floor"><geom type="plane" size="{surroundings.FLOOR}" material="floor" contype="32" conaffinity="0"/></body>
{_furniture(board, realized)}{rings}{made.bodies}</worldbody>
<contact>{made.exclusions}</contact>
<tendon>{made.tendons}</tendon>
<equality>{made.equalities}</equality>
<actuator>{made.actuators}</actuator>
</mujoco>"""


def compile_board(board: Board, realized: Realized, robot: Embodiment) -> Compiled:
    """Compile. Raises BoardError when MuJoCo refuses the model, or something stands in something else."""
    source = f"{board.case} with {robot.name}"
    try:
        model = mujoco.MjModel.from_xml_string(mjcf(board, realized, robot))
    except ValueError as error:
        name = physics.repeated_name(error)
        taken = f"barriers: the robot or the scene has a part {name!r}; give the barrier another name"
        raise BoardError(f"{source}: {error if name is None else taken}") from None
    _check_place(model, board, robot, source)
    return Compiled(model, board, realized, robot)


def _check_place(model: Any, board: Board, robot: Embodiment, source: str) -> None:
    """Barriers, rings with their handles and the robot at its start stand clear of each other."""
    data = mujoco.MjData(model)
    for joint, value in robot.start().items():
        data.joint(joint).qpos = value
    names = [model.body(i).name for i in range(model.nbody)]
    barriers = {barrier.name for barrier in board.barriers}
    fixed = [geom for geom in range(model.ngeom) if names[model.geom_bodyid[geom]] in barriers]
    for first, second, depth in physics.overlaps(model, data, OVERLAP, fixed):
        pair = [names[model.geom_bodyid[geom]] for geom in (first, second)]
        if not set(pair) <= set(robot.parts):
            raise BoardError(f"{source}: {pair[0]} and {pair[1]} overlap by {depth * 1e3:.1f} mm at the start")
