"""One MuJoCo model from a scene and its realized initial condition, with the contact sensors that the referee reads."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from images.mujoco import conditions, panda, physics, surroundings
from images.mujoco.launcher import geometry as g
from images.mujoco.launcher import look, mechanism
from images.mujoco.launcher.elements import Builder
from images.mujoco.launcher.kinds import FREE, MATERIALS
from images.mujoco.launcher.mechanism import Realized
from images.mujoco.launcher.scene import REACH, Scene, SceneError, projectile, projectile_names
from images.mujoco.launcher.shapes import GAP, Built

BODIES = [f"link{i}" for i in range(1, 8)] + ["hand"]
"""Parts of an arm that must not touch anything; only its fingers work."""
FINGERS = ["finger1", "finger2"]
ARM_DOFS = 2 * 9
"""Degrees of freedom of both arms with their fingers, left first."""
CONTACTS = 2 * (len(BODIES) + len(FINGERS)) + 1
"""Contact force sensors: each part of the left arm, of the right arm, then arm against arm; 3 values each."""
ARM_SENSORS = 3 * CONTACTS + 2
"""Those, then the depth of the deepest contact of each arm (m, negative)."""
POINTS = 8
"""Contact points between a pane and each of its breakers; 3 values each, the normal force first."""
OVERLAP = 0.0005  # m: elements of a scene may not start deeper in one another than this

EASY_REST = 10.0  # times MuJoCo's own limit: 0.01 m/s, and 0.01 m/s divided by the body's size for its turning


@dataclass
class Compiled:
    """``model`` is owned by one episode: the plant writes joint ranges, brake values and contact bits into it."""

    model: Any
    scene: Scene
    realized: Realized
    built: dict[str, Built]
    projectiles: list[str]


def realize(parameters: dict[str, Any], ground: bool = False) -> Realized:
    """The initial condition from ``spec["condition"]["parameters"]``, with the first projectile in the barrel or on the
    ``ground``. Raises ValueError naming key and value."""
    offset = (-0.02, 0.02, "lengths of at most 0.02 m")
    conditions.check(
        parameters,
        {
            "stiffness": (1.0, 200.0),
            "azimuth_offset": (-5, 5),
            "elevation_offset": (-5, 5),
            "mass_factor": (0.5, 2),
        },
        {"pivot_offset": (3, *offset), "tray_offset": (2, *offset)},
        {"background": tuple(look.BACKGROUNDS)},
    )
    px, py, pz = (float(a + b) for a, b in zip(g.PIVOT, parameters["pivot_offset"], strict=True))
    tx, ty = (float(v) for v in parameters["tray_offset"])
    return Realized(
        stiffness=float(parameters["stiffness"]),
        azimuth=math.radians(parameters["azimuth_offset"]),
        elevation=g.START_ELEVATION + math.radians(parameters["elevation_offset"]),
        pivot=(px, py, pz),
        pick=(g.PICK[0] + tx, g.PICK[1] + ty, g.PICK[2]),
        mass_factor=float(parameters["mass_factor"]),
        floor_pick=(g.FLOOR_PICK[0] + tx, g.FLOOR_PICK[1] + ty) if ground else None,
    )


def _projectiles(scene: Scene, realized: Realized) -> str:
    """The first projectile lies in the barrel before the pusher, or on the floor; the others one behind the other in
    the tray."""
    out = []
    distance = 0.0
    for index, name in enumerate(projectile_names(scene)):
        kind = projectile(scene, index)
        radius = kind["radius"]
        mass = kind["mass"] * realized.mass_factor
        if index == 0 and realized.floor_pick is not None:
            place = np.array([*realized.floor_pick, radius + GAP])
        elif index == 0:
            s = g.PUSHER_FRONT + radius - realized.sag(mass)
            local = [g.REST + s, 0, mechanism.centre_height(radius)]
            place = np.asarray(realized.pivot) + realized.barrel_rotation() @ local
        else:
            distance += radius
            place = mechanism.tray_position(realized, radius, distance)
            distance += radius + 2e-4
        out.append(
            f'<body name="{name}" pos="{" ".join(f"{v:.9g}" for v in place)}"><freejoint name="{name}"/>'
            f'<geom name="{name}" type="sphere" size="{radius}" mass="{mass:.9g}" '
            f'condim="6" conaffinity="33" friction=".6 .002 .0005" material="{scene.projectiles[index]}"/></body>'
        )
    return "".join(out)


def sensors(scene: Scene, built: dict[str, Built]) -> str:
    """Contact sensors, computed by the engine at every physics step. Layout: ARM_SENSORS, then for each pane the
    projectiles and its breakers, POINTS for each of them."""
    out = []
    for arm in g.ARMS:
        for body in BODIES + FINGERS:
            out.append(f'<contact body1="{arm}_{body}" data="force" reduce="maxforce" num="1"/>')
    out.append('<contact subtree1="left_link0" subtree2="right_link0" data="force" reduce="maxforce" num="1"/>')
    for arm in g.ARMS:
        out.append(f'<contact subtree1="{arm}_link0" data="dist" reduce="mindist" num="1"/>')
    for element in built.values():
        if element.shards:
            for name in (*projectile_names(scene), *scene.element(element.name).breakers):
                pair = f'geom1="{name}" geom2="{element.name}"'
                out.append(f'<contact {pair} data="force" reduce="maxforce" num="{POINTS}"/>')
    return "".join(out)


def mjcf(scene: Scene, realized: Realized, background: str) -> tuple[str, dict[str, Built]]:
    """The whole model as MJCF, and what each element became."""
    builder = Builder(scene)
    arms = "".join(
        panda.arm(f"{arm}_", g.ARM_BASE[arm], index, look.wrist_camera(arm)) for index, arm in enumerate(g.ARMS)
    )
    prefixes = [f"{arm}_" for arm in g.ARMS]
    text = f"""<mujoco model="launcher">
<compiler angle="radian"/>
<option timestep="{g.PHYSICS_DT}" integrator="implicitfast" cone="elliptic" impratio="3" solver="Newton">
 <flag sleep="enable"/></option>
<statistic center="1.3 0 .3" extent="2.6"/>
<visual>{look.visual(background)}</visual>
<default><geom solref=".005 1" solimp=".95 .99 .001"/>{panda.defaults()}{mechanism.defaults()}</default>
<asset>{look.assets(background)}{panda.assets()}{"".join(builder.assets)}</asset>
<worldbody>{look.lights(background)}{look.cameras()}
<geom name="floor" type="plane" size="{surroundings.FLOOR}" material="floor" friction=".6 .02 .002" condim="6"
 contype="32" conaffinity="0"/>
{mechanism.body(realized)}{arms}{_projectiles(scene, realized)}{"".join(builder.bodies)}</worldbody>
<contact>{"".join(panda.exclusions(p) for p in prefixes)}</contact>
<tendon>{"".join(panda.tendons(p) for p in prefixes)}</tendon>
<equality>{mechanism.equalities()}{"".join(panda.equalities(p) for p in prefixes)}</equality>
<actuator>{"".join(panda.actuators(p) for p in prefixes)}</actuator>
<sensor>{sensors(scene, builder.built)}</sensor>
</mujoco>"""
    return text, builder.built


def compile_scene(scene: Scene, realized: Realized, background: str, source: str = "scene") -> Compiled:
    """Compile. Raises SceneError when MuJoCo refuses the model."""
    text, built = mjcf(scene, realized, background)
    try:
        model = mujoco.MjModel.from_xml_string(text)
    except ValueError as error:
        raise SceneError(f"{source}: {_explained(error, built)}") from None
    _check_place(model, built, source)
    _let_rest(model, scene, built)
    return Compiled(model, scene, realized, built, projectile_names(scene))


def _let_rest(model: Any, scene: Scene, built: dict[str, Built]) -> None:
    """A heap of thin plates never quite stops: contacts at their edges come and go; nor does what bounces. So shards
    and bouncing bodies fall asleep at a higher speed than anything else; ``dof_length`` is what MuJoCo multiplies a
    speed by before it compares it with the limit."""
    for element in built.values():
        kind = scene.element(element.name)
        bouncing = isinstance(kind, FREE) and MATERIALS[kind.material].restitution > 0  # what swings turns back slowly
        for name in (*element.shards, *(element.bodies if bouncing else ())):
            body = model.body(name)
            first, count = int(body.dofadr[0]), int(body.dofnum[0])
            model.dof_length[first : first + count] /= EASY_REST


def _explained(refusal: Exception, built: dict[str, Built]) -> str:
    """MuJoCo's refusal; of a name that stands twice the element whose it is."""
    name = physics.repeated_name(refusal)
    if name is None:
        return str(refusal)
    owners = [item.name for item in built.values() if name in (item.name, *item.bodies, *item.geoms, *item.shards)]
    owner = owners[-1] if owners else name
    return f"elements: a part of {owner} would be named {name!r}, as another part is; give {owner} another name"


def _check_place(model: Any, built: dict[str, Built], source: str) -> None:
    """Elements stand beyond the arms' reach and clear of each other; only fixed ones that do not break may be
    joined."""
    data = mujoco.MjData(model)
    owner = {model.geom(name).id: element for element in built.values() for name in element.geoms}
    panes = [geom for geom, element in owner.items() if element.shards]
    for first, second, depth in physics.overlaps(model, data, OVERLAP, panes):
        if first in owner or second in owner:
            names = [owner[geom].name if geom in owner else _part(model, geom) for geom in (first, second)]
            raise SceneError(
                f"{source}: elements: {names[0]} and {names[1]} overlap by {depth * 1e3:.1f} mm at the start"
            )
    for geom, element in owner.items():
        middle, half = np.split(model.geom_aabb[geom], 2)
        across = data.geom_xmat[geom].reshape(3, 3)[0]
        nearest = float(data.geom_xpos[geom][0] + across @ middle - np.abs(across) @ half)
        if nearest < REACH:
            raise SceneError(
                f"{source}: elements: {element.name} begins at x {nearest:.3f} m; the arms reach to {REACH} m"
            )


def _part(model: Any, geom: int) -> str:
    return model.geom(geom).name or "a fixed part"
