"""Draws an episode of a task from a seed. What comes out is solvable within its budget and unambiguous by construction;
``solve.check`` proves it for each one."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from images.kidgym.catalog import COLOURS, ITEMS
from images.kidgym.rules import PLAY, Cell, Task, Thing
from images.kidgym.tasks import TASKS
from images.kidgym.tasks.carrying import Classification, Counting
from images.kidgym.tasks.choosing import MemoryDecode, Selection
from images.kidgym.tasks.filling import FRAME, Filling, MemoryFilling, Puzzle
from images.kidgym.tasks.mazes import STEPS, DecodeMaze, Map, Maze, MemoryMaze
from images.kidgym.tasks.placing import OFFSETS, Placement, Sorting

THEMES = 4
PIECES = 4  # in the backpack of the filling tasks
CHOICES = (4, 6, 8)  # items to choose from, by level
PILES = (3, 6, 9)  # by level; the budget of five steps leaves four for picking up
WANTED = ((1, 3), (2, 6), (3, 9))  # items to collect, by level
COMPARISONS = (("heavier", "weight"), ("faster", "speed"), ("taller", "height"), ("older", "age"))
TILES = ("triangle", "quarter disc", "half", "stripe")
TILE_COLOURS = ("red", "blue", "green", "yellow", "purple")
MAZE_CELLS = 15  # a maze is grown until it has so many, if it can
ATTEMPTS = 200  # growing a maze that has room for all its doors; needed: 3 on average at level 3


class GenerationError(RuntimeError):
    """No episode came out of a seed, which the tests say does not happen."""


def generate(code: str, level: int, seed: int) -> Task:
    """The episode of a task at a level. The same seed gives the same episode everywhere. Raises ValueError for an
    unknown task or level, naming it."""
    if code not in TASKS:
        raise ValueError(f"task {code!r} does not exist; there are {', '.join(TASKS)}")
    if level not in (1, 2, 3):
        raise ValueError(f"level {level!r} of task {code} does not exist; there are 1, 2 and 3")
    random = Random(f"{code} {level} {seed}")
    return _MAKERS[code](level, random.randrange(THEMES), random)


def _cells(random: Random, count: int) -> list[Cell]:
    """Different cells of the play area in random order."""
    return random.sample([(x, y) for x in range(PLAY) for y in range(PLAY)], count)


def _labels(random: Random, count: int) -> list[int]:
    return random.sample(range(count), count)


def _kinds(random: Random, count: int) -> list[str]:
    """Different items of any category."""
    return random.sample([name for items in ITEMS.values() for name in items], count)


def _classification(level: int, theme: int, random: Random) -> Task:
    categories = random.sample(sorted(ITEMS), 2)
    first, second = (random.choice(sorted(ITEMS[category])) for category in categories)
    red, blue = random.sample(sorted(COLOURS), 2)
    cells, labels = _cells(random, 2 * level + 3), _labels(random, 2 * level + 2)
    items = tuple((cells[i], i % 2, labels[i]) for i in range(2 * level))
    baskets = tuple((cells[2 * level + i], labels[2 * level + i]) for i in range(2))
    return Classification(
        level=level, theme=theme, kinds=(first, second), colours=(red, blue), items=items, baskets=baskets,
        agent=cells[-1],
    )  # fmt: skip


def _counting(level: int, theme: int, random: Random) -> Task:
    count = PILES[level - 1]
    low, high = WANTED[level - 1]
    sizes = [random.randint(1, 3) for _ in range(count)]
    picked = random.sample(range(count), random.randint(1, min(count, 4)))
    wanted = sum(sizes[index] for index in picked)
    while not low <= wanted <= high:
        sizes = [random.randint(1, 3) for _ in range(count)]
        picked = random.sample(range(count), random.randint(1, min(count, 4)))
        wanted = sum(sizes[index] for index in picked)
    cells, labels = _cells(random, count + 1), _labels(random, count)
    piles = tuple(zip(cells, sizes, labels, strict=False))
    kind = random.choice(sorted(ITEMS[random.choice(sorted(ITEMS))]))
    return Counting(level=level, theme=theme, kind=kind, wanted=wanted, piles=piles, agent=cells[-1])


def _selection(level: int, theme: int, random: Random) -> Task:
    count = CHOICES[level - 1]
    kinds, cells, labels = _kinds(random, count), _cells(random, count + 1), _labels(random, count)
    items = tuple(zip(cells, kinds, labels, strict=False))
    return Selection(level=level, theme=theme, items=items, wanted=level, agent=cells[-1])


def _memory_decode(level: int, theme: int, random: Random) -> Task:
    count = CHOICES[level - 1]
    kinds, cells, labels = _kinds(random, count + level), _cells(random, count + 1), _labels(random, count)
    items = tuple(zip(cells, kinds, labels, strict=False))
    pairs = tuple((kinds[count + index], index) for index in range(level))
    told = tuple(random.sample(range(level), level))
    return MemoryDecode(level=level, theme=theme, pairs=pairs, items=items, told=told, agent=cells[-1])


def _sorting(level: int, theme: int, random: Random) -> Task:
    count = level + 1
    animals = tuple(random.sample(sorted(ITEMS["animal"]), count))
    ranks = tuple(random.sample(range(count), count))
    adjective, noun = random.choice(COMPARISONS)
    row = random.randint(1, 3)
    first = random.randint(0, PLAY - count)
    cells = tuple((first + index, row) for index in range(count))
    free = [cell for cell in _cells(random, PLAY * PLAY) if cell not in cells]
    return Sorting(
        level=level, theme=theme, animals=animals, ranks=ranks, adjective=adjective, noun=noun, category="animal",
        cells=cells, agent=free[0],
    )  # fmt: skip


def _placement(level: int, theme: int, random: Random) -> Task:
    sides = list(range(0, 8, 2) if level == 1 else range(8))
    told = random.choice(sides)
    turn = random.choice((-1, 1)) if level == 3 else 0
    item, centre = _kinds(random, 2)
    random.shuffle(sides)
    at = (random.randint(1, 3), random.randint(1, 3))
    around = {(at[0] + across, at[1] + down) for across, down in OFFSETS} | {at}
    agent = next(cell for cell in _cells(random, PLAY * PLAY) if cell not in around)
    return Placement(
        level=level, theme=theme, item=item, centre=centre, told=told, turn=turn, sides=tuple(sides), at=at, agent=agent
    )


def _puzzle(level: int, theme: int, random: Random) -> Task:
    tiles = [Thing(shape, colour, quarter=turn) for shape in TILES for colour in TILE_COLOURS for turn in _turns(shape)]
    whole = random.sample(tiles, 4)
    gaps = random.sample(range(4), level)
    others = [tile for tile in tiles if tile not in whole]
    near = [tile for tile in others if any(_alike(tile, whole[gap]) for gap in gaps)]
    wrong = random.sample(near, PIECES - level)
    return _filled(Puzzle, level, theme, random, whole, gaps, wrong)


def _turns(shape: str) -> range:
    return range(2) if shape == "stripe" else range(4)


def _alike(tile: Thing, other: Thing) -> bool:
    """Whether two tiles differ in one thing only."""
    return sum((tile.kind == other.kind, tile.colour == other.colour, tile.quarter == other.quarter)) == 2


def _filling(level: int, theme: int, random: Random) -> Task:
    return _animal(Filling, level, theme, random)


def _memory_filling(level: int, theme: int, random: Random) -> Task:
    return _animal(MemoryFilling, level, theme, random)


def _animal(form: type[Puzzle], level: int, theme: int, random: Random) -> Task:
    """Wrong pieces are the same quarters of other animals."""
    animal, *others = random.sample(sorted(ITEMS["animal"]), 1 + PIECES - level)
    whole = [Thing(animal, quarter=quarter) for quarter in range(4)]
    gaps = random.sample(range(4), level)
    wrong = [Thing(other, quarter=random.choice(gaps)) for other in others]
    return _filled(form, level, theme, random, whole, gaps, wrong)


def _filled(
    form: type[Puzzle], level: int, theme: int, random: Random, whole: list[Thing], gaps: list[int], wrong: list[Thing]
) -> Task:
    pieces: list[tuple[Thing, int | None]] = [(whole[quarter], gap) for gap, quarter in enumerate(gaps)]
    pieces += [(piece, None) for piece in wrong]
    random.shuffle(pieces)
    agent = next(cell for cell in _cells(random, PLAY * PLAY) if cell not in FRAME)
    return form(level=level, theme=theme, whole=tuple(whole), gaps=tuple(gaps), pieces=tuple(pieces), agent=agent)


# ---- mazes ----------------------------------------------------------------------------------------------------------
def _maze(level: int, theme: int, random: Random) -> Task:
    return Maze(level=level, theme=theme, map=_map(level, random, decode=False, boxes=0))


def _decode_maze(level: int, theme: int, random: Random) -> Task:
    return DecodeMaze(level=level, theme=theme, map=_map(level, random, decode=True, boxes=0))


def _memory_maze(level: int, theme: int, random: Random) -> Task:
    return MemoryMaze(level=level, theme=theme, map=_map(level, random, decode=False, boxes=2))


def _map(doors: int, random: Random, *, decode: bool, boxes: int) -> Map:
    """A maze in which every door must be opened: each next key, and last the diamond, lies behind the door before."""
    for _ in range(ATTEMPTS):
        agent, floor = _grow(random)
        chain = _chain(floor, agent, doors, random)
        if chain is not None:
            found = _furnish(floor, agent, chain, random, decode, boxes)
            if found is not None:
                return found
    raise GenerationError(f"no maze with {doors} doors in {ATTEMPTS} attempts")


def _grow(random: Random) -> tuple[Cell, frozenset[Cell]]:
    """Corridors without loops: a cell is added only where it touches one cell of the floor."""
    agent = random.choice(((0, 0), (4, 0), (0, 4), (4, 4), (2, 0), (0, 2), (4, 2), (2, 4)))
    floor, edge = {agent}, [agent]
    while edge and len(floor) < MAZE_CELLS:
        cell = edge[-1] if random.random() < 0.7 else random.choice(edge)
        new = [near for near in _near(cell) if near not in floor and sum(n in floor for n in _near(near)) == 1]
        if new:
            chosen = random.choice(new)
            floor.add(chosen)
            edge.append(chosen)
        else:
            edge.remove(cell)
    return agent, frozenset(floor)


def _near(cell: Cell) -> list[Cell]:
    found = [(cell[0] + across, cell[1] + down) for across, down in STEPS]
    return [(x, y) for x, y in found if 0 <= x < PLAY and 0 <= y < PLAY]


def _chain(
    floor: frozenset[Cell], agent: Cell, count: int, random: Random
) -> list[tuple[Cell, list[Cell], list[Cell]]] | None:
    """Doors in the order of opening, each with the cells in front (where its key lies) and those that it opens."""
    doors = _pick_doors(floor, agent, count, random)
    if doors is None:
        return None
    left, before = set(doors), _region(floor, agent, doors)
    room = sorted(before - {agent})
    chain = []
    while left:
        ready = sorted(door for door in left if any(near in before for near in _near(door)))
        door = random.choice(ready)
        left.remove(door)
        opened = _region(floor, door, left) - before - {door}
        chain.append((door, room, sorted(opened)))
        before |= opened | {door}
        room = sorted(opened)
    return chain if all(front and behind for _, front, behind in chain) else None


def _pick_doors(floor: frozenset[Cell], agent: Cell, count: int, random: Random) -> set[Cell] | None:
    """Cells between two others, no two side by side, none beside the agent."""
    passages = [cell for cell in sorted(floor) if cell != agent and sum(near in floor for near in _near(cell)) == 2]
    random.shuffle(passages)
    doors: set[Cell] = set()
    for cell in passages:
        near = _near(cell)
        if agent not in near and doors.isdisjoint(near):
            doors.add(cell)
            if len(doors) == count:
                return doors
    return None


def _region(floor: frozenset[Cell], start: Cell, closed: set[Cell]) -> set[Cell]:
    found, front = {start}, [start]
    while front:
        for cell in _near(front.pop()):
            if cell in floor and cell not in closed and cell not in found:
                found.add(cell)
                front.append(cell)
    return found


def _furnish(
    floor: frozenset[Cell],
    agent: Cell,
    chain: list[tuple[Cell, list[Cell], list[Cell]]],
    random: Random,
    decode: bool,
    boxes: int,
) -> Map | None:
    count = len(chain)
    colours = random.sample(sorted(COLOURS), count + 1)
    keys = [random.choice(front) for _, front, _ in chain]
    diamond = random.choice(chain[-1][2])
    taken = {agent, diamond, *keys, *(door for door, _, _ in chain)}
    free = [cell for cell in sorted(floor) if cell not in taken]
    extra = int(decode)
    if len(free) < extra + boxes:
        return None
    spare = random.sample(free, extra + boxes)
    key_colours = _other_colours(colours, count, random) if decode else colours[:count]
    labels = _labels(random, 2 * count + 1 + extra + boxes)
    opens: list[int | None] = list(range(count))
    placed = [(cell, colour) for cell, colour in zip(keys, key_colours, strict=False)]
    if decode:
        placed.append((spare[0], key_colours[count]))
        opens.append(None)
    return Map(
        floor=floor,
        agent=agent,
        doors=tuple((door, colours[i], labels.pop()) for i, (door, _, _) in enumerate(chain)),
        keys=tuple((cell, colour, labels.pop()) for cell, colour in placed),
        opens=tuple(opens),
        diamond=diamond,
        label=labels.pop(),
        boxes=tuple((cell, labels.pop()) for cell in spare[extra:]),
    )


def _other_colours(colours: list[str], count: int, random: Random) -> list[str]:
    """Colours of count + 1 keys, none that of the door which the key opens."""
    while True:
        found = random.sample(colours, count + 1)
        if all(key != door for key, door in zip(found, colours[:count], strict=False)):
            return found


_MAKERS: dict[str, Callable[[int, int, Random], Task]] = {
    "CL": _classification,
    "SE": _selection,
    "SO": _sorting,
    "MA": _maze,
    "FI": _filling,
    "PU": _puzzle,
    "PL": _placement,
    "CO": _counting,
    "DMA": _decode_maze,
    "MMA": _memory_maze,
    "MDE": _memory_decode,
    "MFI": _memory_filling,
}
