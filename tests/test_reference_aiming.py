"""The reference agent's ballistic proxy, its search for an aim, and what it learns from a watched shot."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from images.mujoco.launcher import geometry
from images.mujoco.launcher.reference.aiming import Limits, NoAim, Wish, search
from images.mujoco.launcher.reference.ballistics import (
    GRAVITY,
    Ballistics,
    Box,
    Calibration,
    Projectile,
    first_contacts,
)
from images.mujoco.launcher.reference.mechanism import Mechanism, barrel_rotation
from images.mujoco.launcher.reference.watching import Experience, fit_flight

STANDARD = Projectile("standard", 0.015, 0.018)
LIMITS = Limits(azimuth=(-0.5, 0.5), elevation=(0.05, 0.8), draw=(0.06, 0.30))


@pytest.fixture
def ballistics() -> Ballistics:
    mechanism = Mechanism.from_parameters(geometry.parameters())
    return Ballistics(mechanism, 25.0, np.array([0.55, 0.0, 0.30]))


def cube(name: str, *centre: float, half: float = 0.15) -> Box:
    return Box(name, np.array(centre), np.full(3, half), np.eye(3))


def test_a_missing_mechanism_parameter_is_named():
    parameters = geometry.parameters()
    del parameters["gear"]
    with pytest.raises(KeyError, match="describe has no mechanism parameter gear"):
        Mechanism.from_parameters(parameters)


def test_the_barrel_point_formula_is_the_disclosed_one(ballistics):
    rotation = barrel_rotation(0.3, 0.4)
    bore = np.array([np.cos(0.3) * np.cos(0.4), np.sin(0.3) * np.cos(0.4), np.sin(0.4)])
    assert rotation @ [1, 0, 0] == pytest.approx(bore)
    assert rotation @ [0, 1, 0] == pytest.approx([-np.sin(0.3), np.cos(0.3), 0])


def test_a_level_shot_without_friction_has_all_the_energy_of_the_spring(ballistics):
    frictionless = Mechanism.from_parameters(geometry.parameters() | {"bore_friction": 0.0})
    level = Ballistics(frictionless, 25.0, ballistics.pivot)
    draw = np.array([0.1, 0.2, 0.3])
    speed = level.muzzle_speed(STANDARD, draw, np.zeros(3))
    moving = STANDARD.mass + frictionless.carriage_mass
    assert 0.5 * moving * speed**2 == pytest.approx(0.5 * 25.0 * draw**2)


def test_a_short_draw_cannot_lift_the_projectile_out(ballistics):
    assert ballistics.muzzle_speed(STANDARD, np.array(0.02), np.array(0.8)) == 0


@settings(max_examples=30, deadline=None)
@given(st.floats(1.8, 3.2), st.floats(-0.5, 0.5), st.floats(22, 28), st.sampled_from(sorted(geometry.PROJECTILES)))
def test_an_aim_hits_its_target_on_an_independently_integrated_path(x, y, stiffness, kind):
    shooter = Ballistics(Mechanism.from_parameters(geometry.parameters()), stiffness, np.array([0.55, 0.0, 0.3]))
    projectile = Projectile(kind, **geometry.PROJECTILES[kind])
    target = cube("target", x, y, 0.15)
    aim = search(shooter, projectile, Wish(target, target.centre), [target], LIMITS, (0.0, 0.26))
    assert aim.draw / geometry.RATCHET_PITCH == pytest.approx(round(aim.draw / geometry.RATCHET_PITCH))
    place, direction = shooter.release(projectile, np.array(aim.azimuth), np.array(aim.elevation))
    velocity = direction * shooter.muzzle_speed(projectile, np.array(aim.draw), np.array(aim.elevation))
    while target.distance(place) > projectile.radius:
        velocity = velocity - np.array([0, 0, GRAVITY]) * 1e-4
        place = place + velocity * 1e-4
        assert place[2] > projectile.radius
    assert np.sqrt(velocity @ velocity) == pytest.approx(aim.impact_speed, rel=0.02)


def test_a_wall_in_the_way_is_flown_over_and_a_pane_that_may_break_is_not(ballistics):
    target = cube("target", 2.2, 0.0, 0.15)
    wall = Box("wall", np.array([1.5, 0.0, 0.25]), np.array([0.01, 1.0, 0.25]), np.eye(3))
    present = (0.0, 0.26)
    over = search(ballistics, STANDARD, Wish(target, target.centre), [target, wall], LIMITS, present)
    through = search(
        ballistics, STANDARD, Wish(target, target.centre, frozenset({"wall"})), [target, wall], LIMITS, present
    )
    assert over.elevation > through.elevation + 0.2
    path = ballistics.fly(*flying(ballistics, over), seconds=1.0)
    assert first_contacts(path, STANDARD.radius, [target, wall])[0].tolist() == [0]


def flying(ballistics, aim):
    place, direction = ballistics.release(STANDARD, np.array([aim.azimuth]), np.array([aim.elevation]))
    return place, direction * ballistics.muzzle_speed(STANDARD, np.array([aim.draw]), np.array([aim.elevation]))[
        :, None
    ]


def test_a_target_out_of_reach_is_said_so(ballistics):
    for target, text in (
        (cube("aside", 0.6, 3.0, 0.15), "azimuth"),
        (cube("away", 30.0, 0.0, 0.15), "no elevation and draw"),
    ):
        with pytest.raises(NoAim, match=text):
            search(ballistics, STANDARD, Wish(target, target.centre), [target], LIMITS, (0.0, 0.26))
    target = cube("caged", 2.2, 0.0, 0.15)
    with pytest.raises(NoAim, match="blocked"):
        search(
            ballistics,
            STANDARD,
            Wish(target, target.centre),
            [target, cube("cage", 2.2, 0.0, 0.15, half=0.4)],
            LIMITS,
            (0.0, 0.26),
        )


@given(st.floats(-0.02, 0.02), st.floats(-0.02, 0.02), st.floats(0.95, 1.05), st.integers(0, 19))
def test_watched_shots_calibrate_the_proxy_the_more_the_more_agree(azimuth_off, elevation_off, speed_factor, phase):
    mechanism = Mechanism.from_parameters(geometry.parameters())
    truth = Ballistics(mechanism, 25.0, np.array([0.55, 0.0, 0.30]))
    truth.calibration = Calibration(speed_factor, azimuth_off, elevation_off)
    proxy = Ballistics(mechanism, 25.0, truth.pivot)
    place, direction = truth.release(STANDARD, np.array(0.1), np.array(0.5))
    velocity = direction * truth.muzzle_speed(STANDARD, np.array(0.24), np.array(0.5))
    times = 0.02 * np.arange(12) + 0.001 * phase
    positions = place + velocity * times[:, None] - 0.5 * GRAVITY * times[:, None] ** 2 * np.array([0, 0, 1])
    positions[9:] = positions[8] - velocity * 0.1 * (times[9:] - times[8])[:, None]  # it bounces off something
    release = float(np.sqrt((place - truth.pivot) @ (place - truth.pivot)))
    flight = fit_flight(times, positions, truth.pivot, release)
    experience = Experience()
    for count in (1, 2, 3):
        learned = experience.learn(proxy, flight, STANDARD, 0.24, 0.1, 0.5)
        proxy.calibration = learned
        assert learned.azimuth == pytest.approx(azimuth_off * count / (count + 2), abs=1e-3)
        assert learned.elevation == pytest.approx(elevation_off * count / (count + 2), abs=1e-3)
        assert learned.speed - 1 == pytest.approx((speed_factor - 1) * count / (count + 0.5), abs=2e-3)


def test_a_shot_that_never_flies_freely_teaches_nothing():
    times = 0.02 * np.arange(10)
    assert fit_flight(times, np.tile([0.6, 0.0, 0.3], (10, 1)), np.array([0.55, 0.0, 0.30]), 0.22) is None
