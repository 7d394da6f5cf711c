"""``python -m images.mujoco.launcher.workshop CASE``: check one scene; ``--help`` says what else it does."""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from images.mujoco.launcher import geometry as g
from images.mujoco.launcher import scene as scenes
from images.mujoco.launcher.reference import plan as plans
from images.mujoco.launcher.reference.aiming import NoAim
from images.mujoco.launcher.scene import Scene, SceneError
from images.mujoco.launcher.workshop import checks, graph, search
from images.mujoco.launcher.workshop.episode import condition
from images.mujoco.launcher.workshop.proxy import Aim, Outcome, Proxy
from images.mujoco.render import Painter
from images.mujoco.workshop.chosen import CONDITIONS, conditions

VIEWS = ("wide", "range", "side")


def main() -> int:
    options = _options()
    try:
        path = Path(options.case)
        if path.suffix == ".json":
            scene = scenes.parse(path.read_text(encoding="utf-8"), path.name)
        else:
            scene = scenes.load(options.case)
        return Report(scene, options).run()
    except (SceneError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="workshop", description=__doc__)
    parser.add_argument("case", help="A007, or the path of a scene file")
    parser.add_argument("--search", action="store_true", help="search a plan (else the plan file is checked)")
    parser.add_argument("--at", metavar="NAME,NAME", help="with --search: aim at these elements only")
    parser.add_argument("--write", action="store_true", help="with --search: write the plan file")
    parser.add_argument("--conditions", type=conditions, default=CONDITIONS, help="which of the four to try: 0,1,2,3")
    parser.add_argument("--level", action="store_true", help="measure the D-level (about half a minute)")
    parser.add_argument("--graph", action="store_true", help="how far its structure is from that of every other scene")
    parser.add_argument("--picture", metavar="FILE", help="draw the views wide, range and side into this PNG")
    parser.add_argument(
        "--fire", type=_aim, metavar="AZ,EL,DRAW", action="append", default=[], help="shots (degrees, mm) to try"
    )
    return parser.parse_args()


def _aim(text: str) -> Aim:
    """A shot as a person writes it. Raises ArgumentTypeError."""
    try:
        az, el, draw = (float(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: azimuth, elevation (degrees), draw (mm), as 2,15,180") from None
    if not (abs(az) <= 25 and 5 <= el <= 45 and 50 <= draw <= 1000 * g.MAX_DRAW):
        most = round(1000 * g.MAX_DRAW)
        raise argparse.ArgumentTypeError(f"{text!r}: azimuth -25..25, elevation 5..45, draw 50..{most}")
    return Aim(math.radians(az), math.radians(el), draw / 1000)


class Report:
    """What the bench says of one scene; ``run`` returns the exit status."""

    def __init__(self, scene: Scene, options: argparse.Namespace) -> None:
        self.scene, self.options = scene, options
        self.conditions: tuple[int, ...] = options.conditions
        self.failed = 0

    def run(self) -> int:
        scene, options = self.scene, self.options
        print(f"{scene.case} {scene.title}: tier {scene.tier}, {len(scene.projectiles)} shots, valid")
        found = checks.stay(scene)
        asleep = "NEVER ASLEEP" if found.asleep_s is None else f"asleep after {found.asleep_s:.1f} s"
        self._say(found.good, f"untouched: drift {1000 * found.drift:.3f} mm ({found.body}), {asleep}")
        if options.picture:
            picture(scene, Path(options.picture))
            print(f"picture: {options.picture}")
        if options.graph:
            self._graph()
        if options.fire:
            return self._fire()
        plan = self._search() if options.search else plans.read(scene.case)
        if plan:
            self._check(plan)
        elif not options.search:
            print("no plan file: use --search")
        self._naive()
        if options.level:
            share = checks.window(scene)
            level = checks.d_level(share)
            self._say(level == scene.d_level, f"{100 * share:.1f} % of aims clear the first target: D-level {level}")
        return int(self.failed > 0)

    def _say(self, good: bool, text: str) -> None:
        self.failed += not good
        print(f"{'ok ' if good else 'BAD'} {text}", flush=True)

    def _parameters(self, index: int) -> dict[str, Any]:
        return condition(self.scene.case, index)

    def _graph(self) -> None:
        own = graph.structure(self.scene)
        print(f"  nodes {own.labels}\n  edges {sorted(own.edges)}")
        others = [scenes.load(case) for case in scenes.cases() if case != self.scene.case]
        near = sorted((graph.distance(own, graph.structure(other)), other.case) for other in others)
        self._say(near[0][0] >= 2, f"nearest structures: {', '.join(f'{case} at {d}' for d, case in near[:5])}")

    def _fire(self) -> int:
        """The given shots at the first chosen condition."""
        proxy = Proxy(self.scene, self._parameters(self.conditions[0]))
        for aim in self.options.fire:
            _tell(proxy.fire(aim))
        proxy.advance(8.0)
        print(f"  {proxy.judgement}")
        return 0

    def _search(self) -> list[plans.Stage]:
        """Search at one condition; the others are the check."""
        started = time.monotonic()
        proxy = Proxy(self.scene, self._parameters(self.conditions[0]))
        names = self.options.at.split(",") if self.options.at else None
        for name in names or []:
            if name not in {element.name for element in self.scene.elements}:
                raise SceneError(f"--at: no element is named {name!r}")
        found = search.sequence(proxy, names)
        proxy.advance(8.0)
        for item in found:
            _tell(item.outcome, f"share {item.share:.2f} at {item.stage.hit} {item.stage.offset.tolist()}")
        won = proxy.judgement is not None and proxy.judgement.cause == "goal_met"
        self._say(won, f"searched condition {self.conditions[0]} in {time.monotonic() - started:.0f} s")
        plan = [search.settle_stage(item) for item in found]
        text = json.dumps(search.as_json(plan), indent=1)
        if self.options.write and won:
            plans.PLANS.mkdir(exist_ok=True)
            (plans.PLANS / f"{self.scene.case}.json").write_text(text + "\n", encoding="utf-8")
        elif won:
            print(text)
        return plan

    def _check(self, plan: list[plans.Stage]) -> None:
        """The plan at every chosen condition, as it is and with every shot off by as much as the arms may be."""
        for index in self.conditions:
            wins, first = 0, None
            for off in search.OFF:
                proxy = Proxy(self.scene, self._parameters(index))
                try:
                    outcomes = search.follow(proxy, plan, off)
                except NoAim as error:
                    print(f"  {error}")
                    outcomes = []
                won = proxy.judgement is not None and proxy.judgement.cause == "goal_met"
                wins += won
                if first is None:
                    first = won
                    for outcome in outcomes:
                        _tell(outcome)
                if not won:
                    az, el = np.degrees(off[:2])
                    print(f"  off by ({az:.2f}, {el:.2f}, {1000 * off[2]:.0f}): {_judged(proxy)}")
            self._say(bool(first), f"condition {index}: {wins} of {len(search.OFF)} disturbed plays win")

    def _naive(self) -> None:
        wins = []
        for index in self.conditions:
            outcomes = checks.naive(self.scene, self._parameters(index))
            wins.append(bool(outcomes) and outcomes[-1].won)
        print(f"    naive aimer wins {sum(wins)} of {len(wins)} conditions")


def _judged(proxy: Proxy) -> str:
    return "goes on" if proxy.judgement is None else f"{proxy.judgement.cause}: {proxy.judgement.text}"


def _tell(outcome: Outcome, more: str = "") -> None:
    parts = [f"  {outcome.aim}: struck {','.join(outcome.struck) or 'nothing'}"]
    if outcome.impact is not None:
        parts.append("at " + np.array2string(outcome.impact, precision=3, separator=","))
    for text, names in (("reached", outcome.reached), ("broke", outcome.fractured)):
        if names:
            parts.append(f"{text} {','.join(names)}")
    if outcome.judgement is not None:
        parts.append(outcome.judgement.text)
    print("; ".join([*parts, more] if more else parts), flush=True)


def picture(scene: Scene, path: Path) -> None:
    """The views side by side."""
    proxy = Proxy(scene, condition(scene.case, 0))
    painter = Painter(proxy.plant.model, proxy.plant.data)
    frames = [painter.picture(view, 512, 512) for view in VIEWS]
    painter.close()
    Image.fromarray(np.concatenate(frames, axis=1)).save(path)


if __name__ == "__main__":
    sys.exit(main())
