"""The launcher, its wheels, brake, trigger and ammunition tray as MJCF, at the realized initial condition.

What the parts do when they move (gear and brake coupling, ratchet, sear, seating) is in ``plant.py``; every number
that an agent may need is in ``geometry.py``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from images.mujoco.launcher import geometry as g

GRAVITY = 9.81  # m/s^2, MuJoCo's own
STIFF = 'solref=".004 1" solimp=".98 .999 .0005"'


@dataclass(frozen=True)
class Realized:
    """The initial condition of one episode. Angles in rad, lengths in m, stiffness in N/m."""

    stiffness: float
    azimuth: float
    elevation: float
    pivot: tuple[float, float, float]
    pick: tuple[float, float, float]
    mass_factor: float
    floor_pick: tuple[float, float] | None = None  # ground mode: where the first projectile lies

    def barrel_rotation(self) -> np.ndarray:
        """World from barrel at the start."""
        return barrel_rotation(self.azimuth, self.elevation)

    def sag(self, load: float) -> float:
        """Draw (m) at which the spring carries the carriage and a projectile of mass ``load`` (kg) at the start.

        They start there: without it they would bounce for three seconds and keep the mechanism awake."""
        return (g.CARRIAGE_MASS + load) * GRAVITY * math.sin(self.elevation) / self.stiffness


def barrel_rotation(azimuth: float, elevation: float) -> np.ndarray:
    """World from barrel: Rz(azimuth) Ry(-elevation)."""
    ca, sa, ce, se = math.cos(azimuth), math.sin(azimuth), math.cos(elevation), math.sin(elevation)
    return np.array([[ca * ce, -sa, -ca * se], [sa * ce, ca, -sa * se], [se, 0, ce]])


def centre_height(radius: float) -> float:
    """Height of a projectile's centre above the barrel axis (m)."""
    return (radius - g.REFERENCE_RADIUS) * math.sqrt(2)


def _vec(values: object) -> str:
    return " ".join(f"{float(v):.9g}" for v in values)  # type: ignore[attr-defined]


def _quat(*turns: tuple[str, float]) -> str:
    """Quaternion of successive intrinsic turns ('x', angle) as MJCF text."""
    w = np.array([1.0, 0.0, 0.0, 0.0])
    for axis, angle in turns:
        s, c = math.sin(angle / 2), math.cos(angle / 2)
        v = np.zeros(3)
        v["xyz".index(axis)] = s
        w = np.array([w[0] * c - w[1:] @ v, *(w[0] * v + c * w[1:] + np.cross(w[1:], v))])
    return _vec(w)


def _box(size: tuple[float, float, float], pos: object, cls: str, quat: str = "1 0 0 0", extra: str = "") -> str:
    return f'<geom class="{cls}" type="box" size="{_vec(size)}" pos="{_vec(pos)}" quat="{quat}" {extra}/>'


def _barrel() -> str:
    """V groove with a closed rear end and a cover over the muzzle, in the barrel's frame (origin at the pivot)."""
    half = (g.BARREL_MUZZLE - g.BARREL_REAR) / 2
    middle = g.REST + (g.BARREL_MUZZLE + g.BARREL_REAR) / 2
    apex = -g.REFERENCE_RADIUS * math.sqrt(2)
    wall, thick, slope = 0.028, 0.0025, math.sqrt(0.5)
    out = []
    for side in (1, -1):
        # Along the wall (0, side, 1)/sqrt2 from the apex, outward normal (0, side, -1)/sqrt2.
        centre = (middle, side * (wall + thick) * slope, apex + (wall - thick) * slope)
        out.append(_box((half, wall, thick), centre, "bore", _quat(("x", side * math.pi / 4))))
        out.append(
            f'<geom class="look" type="box" size="{half} .004 .004" material="steel" '
            f'pos="{_vec((middle, side * 2 * wall * slope, apex + 2 * wall * slope))}"/>'
        )
    out.append(_box((0.003, 0.04, 0.022), (g.REST + g.BARREL_REAR - 0.003, 0, apex + 0.022), "bore"))
    out.append(_box((0.03, 0.04, 0.002), (g.REST + g.BARREL_MUZZLE - 0.03, 0, 0.032), "bore"))
    for side in (1, -1):
        post = (g.REST + g.BARREL_MUZZLE - 0.03, side * 0.0385, 0.022)
        out.append(f'<geom class="look" type="box" size=".03 .0015 .012" pos="{_vec(post)}" material="steel"/>')
    out.append(f'<site name="muzzle" pos="{g.REST + g.BARREL_MUZZLE} 0 0" group="4"/>')
    return "".join(out)


def _turret(realized: Realized) -> str:
    x, y, z = realized.pivot
    low, high = g.STOPS_AZIMUTH
    elow, ehigh = g.STOPS_ELEVATION
    reach = g.REFERENCE_RADIUS * 0.65
    return f"""
<geom class="stand" type="cylinder" size=".05 {z / 2 - 0.05}" pos="{x} {y} {z / 2 - 0.05}"/>
<body name="turret" pos="{x} {y} {z}">
 <joint name="azimuth" axis="0 0 1" range="{low} {high}" damping=".3" armature=".02"/>
 <geom class="stand" type="cylinder" size=".055 .008" pos="0 0 -.088" mass=".5"/>
 <geom class="stand" type="box" size=".02 .004 .045" pos="0 .048 -.04" mass=".1"/>
 <geom class="stand" type="box" size=".02 .004 .045" pos="0 -.048 -.04" mass=".1"/>
 <body name="barrel">
  <joint name="elevation" axis="0 -1 0" range="{elow} {ehigh}" damping=".3" armature=".02"/>
  {_barrel()}
  <body name="carriage" pos="{g.REST} 0 0">
   <joint name="draw" type="slide" axis="1 0 0" range="{-g.MAX_DRAW} 0" stiffness="{realized.stiffness}"
     solreflimit=".003 1" solimplimit=".98 .999 .0005"/>
   <geom class="bore" name="pusher" type="box" size="{g.PUSHER_FRONT} {reach} {reach}"
     mass="{g.CARRIAGE_MASS - 0.015}" material="brass"/>
   <geom class="part" type="box" size=".004 .005 {g.TBAR_HEIGHT / 2 - 0.006}" pos="0 0 {g.TBAR_HEIGHT / 2 + 0.006}"
     mass=".005" material="brass"/>
   <geom class="handle" name="tbar" type="capsule" size="{g.TBAR_RADIUS} {g.TBAR_HALF_LENGTH}" pos="0 0 {g.TBAR_HEIGHT}"
     quat="{_quat(("x", math.pi / 2))}" mass=".01" material="red"/>
  </body>
 </body>
</body>"""


def _wheel(name: str, centre: tuple[float, float, float], material: str) -> str:
    x, y, z = centre
    return f"""
<geom class="stand" type="cylinder" size=".03 {z / 2 - 0.006}" pos="{x} {y} {z / 2 - 0.006}"/>
<body name="{name}" pos="{x} {y} {z}">
 <joint name="{name}" axis="0 0 1" damping=".01" armature=".001" frictionloss=".15"
   solreffriction=".004 1" solimpfriction=".98 .999 .001"/>
 <geom class="part" type="cylinder" size="{g.WHEEL_RADIUS} .008" mass=".3" material="{material}"/>
 <geom class="look" type="box" size=".03 .004 .002" pos="-.03 0 .009" material="white"/>
 <body name="{name}_knob" pos="{g.KNOB_CIRCLE} 0 .045">
  <joint name="{name}_knob" axis="0 0 1" damping=".0001" armature="1e-5"/>
  <geom class="handle" type="cylinder" size="{g.KNOB_RADIUS} .03" mass=".03" material="dark"/>
 </body>
</body>"""


def _brake() -> str:
    x, y, z = g.BRAKE_HINGE
    length = g.BRAKE_LENGTH
    return f"""
<geom class="stand" type="cylinder" size=".02 {z / 2 - 0.008}" pos="{x} {y} {z / 2 - 0.008}"/>
<body name="brake" pos="{x} {y} {z}">
 <joint name="brake" axis="0 0 1" range="{g.BRAKE_STOPS[0]} {g.BRAKE_STOPS[1]}" damping=".02" armature=".0005"
   frictionloss=".06"/>
 <geom class="part" type="cylinder" size=".016 .006" mass=".05" material="yellow"/>
 <geom class="part" type="box" size=".006 {length / 2} .005" pos="0 {length / 2} 0" mass=".03" material="yellow"/>
 <geom class="part" type="capsule" size=".008" fromto="0 {length} 0 0 {length} .06" mass=".02" material="yellow"
   friction=".3 .005 .0001"/>
</body>"""


def _trigger() -> str:
    x, y, z = g.TRIGGER
    hx, hy = g.TRIGGER_HALF
    return f"""
<geom class="stand" type="box" size=".012 .02 {z / 2 - 0.006}"
  pos="{x + g.TRIGGER_HINGE_X + 0.005} {y} {z / 2 - 0.006}"/>
<body name="trigger" pos="{x + g.TRIGGER_HINGE_X} {y} {z}">
 <joint name="trigger" axis="0 -1 0" range="0 {math.radians(25)}" damping=".02" armature=".0005" stiffness=".6"
   springref="{math.radians(-10)}"/>
 <geom class="part" type="box" size="{hx} {hy} .004" pos="-{hx} 0 -.004" mass=".05" material="red"/>
</body>"""


def tray_axes() -> tuple[np.ndarray, np.ndarray]:
    """Unit vectors of the tray: outward along the groove (it rises), and up from the groove."""
    c, s = math.cos(g.TRAY_TILT), math.sin(g.TRAY_TILT)
    return np.array([0.0, -c, s]), np.array([0.0, s, c])


def tray_position(realized: Realized, radius: float, distance: float) -> np.ndarray:
    """Centre (m) of a projectile of ``radius`` that rests in the tray ``distance`` beyond the end stop's face."""
    out, up = tray_axes()
    rise = g.PICK_SLOPE * (radius - g.REFERENCE_RADIUS)
    return np.asarray(realized.pick) + out * (distance - g.TRAY_STOP) + up * rise


def _tray(realized: Realized) -> str:
    """A shallow V groove that rises outward, with an end stop below finger height and rails along its upper part."""
    out, up = tray_axes()
    pick = np.asarray(realized.pick)
    apex = pick - up * g.PICK_SLOPE * g.REFERENCE_RADIUS
    half, stop, width, thick = 0.15, g.TRAY_STOP, 0.0052, 0.003
    middle = apex + out * (half - stop)
    slope = g.TRAY_GROOVE
    geoms = []
    for side in (1, -1):
        along = np.array([side * math.cos(slope), *(up[1:] * math.sin(slope))])
        normal = np.array([-side * math.sin(slope), *(up[1:] * math.cos(slope))])
        turn = _quat(("x", -g.TRAY_TILT), ("y", -side * slope))
        geoms.append(_box((width, half, thick), middle + along * width - normal * thick, "tray", turn))
        rail = middle + out * 0.06 + up * 0.016 + np.array([side * 0.0245, 0, 0])
        geoms.append(_box((0.0025, half - 0.06, 0.022), rail, "tray", _quat(("x", -g.TRAY_TILT))))
    face = pick - out * (stop + 0.003) - up * 0.004
    geoms.append(_box((0.012, 0.003, 0.012), face, "tray", _quat(("x", -g.TRAY_TILT))))
    for distance in (0.05, 0.22):
        x, y, top = pick + out * distance - up * (g.PICK_SLOPE * g.REFERENCE_RADIUS + 2 * thick)
        geoms.append(
            f'<geom class="stand" type="box" size=".01 .01 {top / 2:.6f}" pos="{x:.6f} {y:.6f} {top / 2:.6f}"/>'
        )
    return "".join(geoms)


def body(realized: Realized) -> str:
    """Everything of the mechanism that stands in the world; its joints are the model's first."""
    return (
        _turret(realized)
        + _wheel("elevation_wheel", g.ELEVATION_WHEEL, "red")
        + _wheel("azimuth_wheel", g.AZIMUTH_WHEEL, "blue")
        + _brake()
        + _trigger()
        + _tray(realized)
    )


def defaults() -> str:
    """Default classes of the mechanism's geoms. They meet arms and free bodies, never each other or the floor."""
    return (
        f'<default class="bore"><geom conaffinity="0" friction="{g.BORE_FRICTION} .001 .0001" priority="1" mass=".04" '
        'material="barrel"/></default>'
        '<default class="tray"><geom conaffinity="0" friction=".4 .002 .0001" material="wood_light"/></default>'
        '<default class="stand"><geom conaffinity="0" material="stand"/></default>'
        '<default class="part"><geom conaffinity="0" material="steel"/></default>'
        '<default class="handle"><geom conaffinity="0" friction="1 .01 .001" condim="4" solref=".004 1"/></default>'
        '<default class="look"><geom contype="0" conaffinity="0" mass="0"/></default>'
    )


def equalities() -> str:
    """Gears (always on) and brakes (their value is written when the brake is set)."""
    gear = f'polycoef="0 {g.GEAR} 0 0 0" {STIFF}'
    return (
        f'<joint name="azimuth_gear" joint1="azimuth" joint2="azimuth_wheel" {gear}/>'
        f'<joint name="elevation_gear" joint1="elevation" joint2="elevation_wheel" {gear}/>'
        f'<joint name="azimuth_brake" joint1="azimuth" {STIFF}/>'
        f'<joint name="elevation_brake" joint1="elevation" {STIFF}/>'
    )
