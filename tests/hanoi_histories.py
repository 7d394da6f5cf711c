"""Random histories of a Hanoi board as words, as the states that a simulator would report, and as an oracle rules them.

The oracle knows rings, pegs and the rules of the page, and nothing of poses; the referee sees poses and nothing of
words.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from images.mujoco.hanoi import geometry as g
from images.mujoco.hanoi.board import Board
from images.mujoco.hanoi.evaluator import Evaluator
from images.mujoco.hanoi.rules import clauses
from images.mujoco.hanoi.state import NONE, Cast, Contacts, Post, Sample, State
from images.mujoco.single_panda import SinglePanda

ROBOT = SinglePanda()
UNTOUCHED_S = 0.02  # s: what the page discloses for a ring that was raised
UNTOUCHED_SPEED = 0.4  # m/s: and for any ring
STILL = np.zeros(len(ROBOT.joints))
HOME = np.array([joint.start for joint in ROBOT.joints])
RINGS = tuple(f"ring_{i + 1}" for i in range(g.RINGS))
NAMES = ("world", "support_A", "peg_A", *RINGS, *ROBOT.parts)


def cast(board: Board) -> Cast:
    """A board where it was authored."""
    posts = [
        Post(letter, *peg.at, peg.support, peg.support + peg.length)
        for letter, peg in zip(g.PEGS, board.pegs, strict=True)
    ]
    return Cast(NAMES, RINGS, dict(ROBOT.parts), tuple(posts))


def referee(board: Board) -> Evaluator:
    return Evaluator(board, cast(board), ROBOT.joints, clauses(board, ROBOT))


def touching(first: str, second: str, force: float = 1.0, depth: float = 0.0) -> Contacts:
    """One contact."""
    pair = [[NAMES.index(first), NAMES.index(second)]]
    return Contacts(np.array(pair), np.array([force]), np.array([depth]))


# ---- words ---------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Word:
    """``raise`` a ring with all that lies on it, ``lower`` the raised one onto a peg, ``loosen`` the grip of a raised
    one for so many looks of 1/120 s, of which the first is at any place in a control step, ``push`` a ring that nothing
    touches by some millimetres within one look, ``throw`` it away, ``wait`` for some time (s)."""

    kind: str
    ring: int = 0
    peg: int = 0
    seconds: float = 0.0
    looks: int = 0
    millimetres: float = 0.0


@dataclass
class Oracle:
    """The rules in words. ``verdict`` is a clause, ``goal_met`` or None so far."""

    piles: list[list[int]]
    goal: list[int]
    raised: list[int] = field(default_factory=list)
    verdict: str | None = None

    def hear(self, word: Word) -> None:
        if self.verdict is not None:
            return
        if word.kind == "raise":
            self._raise(word.ring)
        elif word.kind == "lower":
            if any(other > word.ring for other in self.piles[word.peg]):
                self.verdict = "H-11"
            self.piles[word.peg].append(word.ring)
            self.raised.remove(word.ring)
        elif word.kind == "loosen" and word.looks > UNTOUCHED_S * g.PHYSICS_HZ:
            self.verdict = "H-60"
        elif word.kind == "push" and word.millimetres / 1000 * g.PHYSICS_HZ > UNTOUCHED_SPEED:
            self.verdict = "H-62"
        elif word.kind == "throw":
            self.verdict = "H-61"
        elif word.kind == "wait" and word.seconds > 1.1 and not self.raised:
            arranged = all(ring in self.piles[peg] for ring, peg in enumerate(self.goal))
            self.verdict = "goal_met" if arranged else None

    def _raise(self, ring: int) -> None:
        pile = next(pile for pile in self.piles if ring in pile)
        if pile[-1] != ring:
            self.verdict = "H-10"
        elif self.raised:
            self.verdict = "H-12"
        pile.remove(ring)
        self.raised.append(ring)


# ---- states --------------------------------------------------------------------------------------------------------
class Scene:
    """Poses of the rings while words happen. ``jitter`` (m) disturbs every pose that is told."""

    def __init__(self, board: Board, rng: random.Random, jitter: float) -> None:
        self._posts, self._rng, self._jitter = cast(board).posts, rng, jitter
        self.piles: list[list[int]] = [[], [], []]
        for ring, letter in enumerate(board.start):
            self.piles[g.PEGS.index(letter)].append(ring)
        self.centres = np.zeros((g.RINGS, 3))
        for pile, post in zip(self.piles, self._posts, strict=True):
            for place, ring in enumerate(pile):
                self.centres[ring] = post.x, post.y, post.support + g.RING_HEIGHT * (place + 0.5)
        self.time, self._told = 0.0, self.centres.copy()

    def _state(
        self, held: list[int], free: Sequence[bool] = (False,) * g.SAMPLES, push: tuple[int, float] | None = None
    ) -> State:
        """One control step. ``free`` says of each of its looks whether the robot touches nothing then, ``push`` which
        ring is how much (m) aside in the third of them."""
        told = self.centres + [[self._rng.uniform(-1, 1) * self._jitter for _ in range(3)] for _ in range(g.RINGS)]
        moved = np.abs(self.centres - self._told).max(axis=1) > 1e-9
        self._told = self.centres.copy()
        self.time += g.CONTROL_DT
        hands = [[NAMES.index("finger1"), NAMES.index(RINGS[ring])] for ring in held]
        grip = Contacts(np.array(hands), np.ones(len(held)), np.zeros(len(held))) if held else NONE
        samples = [
            Sample(self.time - left * g.PHYSICS_DT, STILL, NONE if loose else grip, told)
            for left, loose in zip(reversed(range(g.SAMPLES)), free, strict=True)
        ]
        if push is not None:
            aside = told.copy()
            aside[push[0], 0] += push[1]
            samples[2] = replace(samples[2], centres=aside)
        axes = np.tile([0.0, 0.0, 1.0], (g.RINGS, 1))
        return State(self.time, axes, 0.1 * moved, np.zeros(g.RINGS), HOME, tuple(samples))

    def _glide(self, rings: list[int], goal: np.ndarray, held: list[int]) -> Iterator[State]:
        """Steps of at most 8 mm; ``goal`` is where the first ring goes, the others keep their distance."""
        way = goal - self.centres[rings[0]]
        count = max(1, math.ceil(float(np.linalg.norm(way)) / 0.008))
        start = self.centres[rings].copy()
        for step in range(1, count + 1):
            self.centres[rings] = start + way * step / count
            yield self._state(held)

    def play(self, word: Word, raised: list[int]) -> Iterator[State]:
        """The states of one word; ``raised`` are the rings that the robot holds before it."""
        ring = word.ring
        if word.kind == "raise":
            pile = next(pile for pile in self.piles if ring in pile)
            taken = pile[pile.index(ring) :]
            x, y, _ = self.centres[ring]
            yield from self._glide(taken, np.array([x, y, 0.35]), [*raised, ring])
            yield from self._glide(taken, np.array([x - 0.1, y, 0.35]), [*raised, ring])
            del pile[pile.index(ring) :]
        elif word.kind == "lower":
            post, pile = self._posts[word.peg], self.piles[word.peg]
            seat = post.support + g.RING_HEIGHT * (len(pile) + 0.5)
            yield from self._glide([ring], np.array([post.x, post.y, 0.35]), raised)
            yield from self._glide([ring], np.array([post.x, post.y, seat]), raised)
            pile.append(ring)
            yield self._state([other for other in raised if other != ring])
        elif word.kind == "throw":
            yield from self._glide([ring], np.array([0.5, 0.7, 0.35]), raised)
        elif word.kind == "push":
            yield self._state(raised, (False, False, True, False), (ring, word.millimetres / 1000))
        elif word.kind == "loosen":
            free = [False] * self._rng.randrange(g.SAMPLES) + [True] * word.looks
            free += [False] * (-len(free) % g.SAMPLES)
            for start in range(0, len(free), g.SAMPLES):
                yield self._state(raised, free[start : start + g.SAMPLES])
            yield self._state(raised)
        else:
            for _ in range(round(word.seconds / g.CONTROL_DT) + 1):
                yield self._state(raised)


def history(board: Board, rng: random.Random, words: int) -> Iterator[Word]:
    """Mostly sensible words, with some illegal ones; each is possible where it comes."""
    piles: list[list[int]] = [[], [], []]
    for ring, letter in enumerate(board.start):
        piles[g.PEGS.index(letter)].append(ring)
    raised: list[int] = []
    for _ in range(words):
        chance = rng.random()
        if raised and chance < 0.85:
            ring = raised.pop()
            legal = [p for p in range(3) if all(other < ring for other in piles[p])]
            peg = rng.choice(legal) if legal and rng.random() < 0.93 else rng.randrange(3)
            piles[peg].append(ring)
            yield Word("lower", ring, peg)
            if rng.random() < 0.2:
                yield Word("wait", seconds=rng.choice([0.5, 0.8, 1.3]))
        elif raised and chance < 0.91:
            yield Word("loosen", raised[-1], looks=rng.randint(1, 4))
        elif raised and chance < 0.97:
            yield Word("push", raised[-1], millimetres=rng.choice([2.0, 3.2, 3.5, 8.0]))
        elif raised and chance < 0.98:
            yield Word("throw", raised[-1])
            return
        else:
            full = [pile for pile in piles if pile]
            pile = rng.choice(full)
            ring = pile[-1] if rng.random() < 0.93 else rng.choice(pile)
            if ring != pile[-1]:
                yield Word("raise", ring)
                return
            pile.remove(ring)
            raised.append(ring)
            yield Word("raise", ring)
    yield Word("wait", seconds=1.5)


def rule(board: Board, seed: int) -> tuple[str | None, str | None, list[Word]]:
    """What the oracle and the referee say of the history of ``seed``, and its words. Every fourth history is the
    shortest solution, cut short or disturbed at times, so that successes are there too."""
    rng = random.Random(seed)
    oracle = Oracle([[], [], []], [g.PEGS.index(letter) for letter in board.goal])
    for ring, letter in enumerate(board.start):
        oracle.piles[g.PEGS.index(letter)].append(ring)
    judge, scene = referee(board), Scene(board, rng, jitter=0.0004)
    words = list(_solution(board, rng) if seed % 4 == 0 else history(board, rng, rng.randint(2, 14)))
    for word in words:
        for state in scene.play(word, list(oracle.raised)):
            judge.tick(state)
        oracle.hear(word)
        if oracle.verdict is not None or judge.judgement is not None:
            break
    found = judge.judgement
    said = None if found is None else "goal_met" if found.success else found.clause
    return oracle.verdict, said, words


def _solution(board: Board, rng: random.Random) -> Iterator[Word]:
    from images.mujoco.hanoi.reference.planner import shortest

    start, goal = (tuple(g.PEGS.index(letter) for letter in text) for text in (board.start, board.goal))
    moves = shortest(start, goal)
    for ring, peg in moves[: rng.choice([len(moves), len(moves), len(moves) - 1])]:
        yield Word("raise", ring)
        if rng.random() < 0.1:
            yield Word("loosen", ring, looks=2)
        yield Word("lower", ring, peg)
    yield Word("wait", seconds=rng.choice([0.8, 1.5, 1.5]))
