"""The rules of the twelve tasks, one module for each kind of play."""

from __future__ import annotations

from images.kidgym.rules import Task
from images.kidgym.tasks.carrying import Classification, Counting
from images.kidgym.tasks.choosing import MemoryDecode, Selection
from images.kidgym.tasks.filling import Filling, MemoryFilling, Puzzle
from images.kidgym.tasks.mazes import DecodeMaze, Maze, MemoryMaze
from images.kidgym.tasks.placing import Placement, Sorting

TASKS: dict[str, type[Task]] = {
    task.code: task
    for task in (
        Classification,
        Selection,
        Sorting,
        Maze,
        Filling,
        Puzzle,
        Placement,
        Counting,
        DecodeMaze,
        MemoryMaze,
        MemoryDecode,
        MemoryFilling,
    )
}
