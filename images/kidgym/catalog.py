"""What can stand in a scene: four categories of items (text: animals, fruits, food, toys), colours, step budgets."""

from __future__ import annotations

ITEMS = {
    "animal": {
        "elephant": "\U0001f418", "turtle": "\U0001f422", "rabbit": "\U0001f407", "rooster": "\U0001f413",
        "cow": "\U0001f404", "horse": "\U0001f40e", "pig": "\U0001f416", "sheep": "\U0001f411",
        "penguin": "\U0001f427", "whale": "\U0001f433", "butterfly": "\U0001f98b", "tiger": "\U0001f405",
        "duck": "\U0001f986", "mouse": "\U0001f401", "camel": "\U0001f42b", "snail": "\U0001f40c",
    },
    "fruit": {
        "apple": "\U0001f34e", "banana": "\U0001f34c", "bunch of grapes": "\U0001f347", "strawberry": "\U0001f353",
        "orange": "\U0001f34a", "pear": "\U0001f350", "peach": "\U0001f351", "pineapple": "\U0001f34d",
        "watermelon": "\U0001f349", "kiwi": "\U0001f95d", "lemon": "\U0001f34b", "coconut": "\U0001f965",
    },
    "food": {
        "bread": "\U0001f35e", "pizza": "\U0001f355", "hamburger": "\U0001f354", "egg": "\U0001f95a",
        "cheese": "\U0001f9c0", "doughnut": "\U0001f369", "cookie": "\U0001f36a", "cake": "\U0001f370",
        "hot dog": "\U0001f32d", "croissant": "\U0001f950", "ice cream": "\U0001f366", "carrot": "\U0001f955",
    },
    "toy": {
        "ball": "\u26bd", "teddy bear": "\U0001f9f8", "kite": "\U0001fa81", "die": "\U0001f3b2", "drum": "\U0001f941",
        "car": "\U0001f697", "train": "\U0001f682", "balloon": "\U0001f388", "guitar": "\U0001f3b8",
        "rocket": "\U0001f680", "trumpet": "\U0001f3ba", "bicycle": "\U0001f6b2",
    },
}  # fmt: skip
OTHERS = {"child": "\U0001f9d2", "diamond": "\U0001f48e"}
EMOJI = {name: text for items in ITEMS.values() for name, text in items.items()} | OTHERS
PLURALS = {  # of names that the rule for regular words would spoil
    "sheep": "sheep",
    "mouse": "mice",
    "bunch of grapes": "bunches of grapes",
    "bread": "loaves of bread",
    "die": "dice",
}
CATEGORY = {name: category for category, items in ITEMS.items() for name in items}

COLOURS = {
    "red": (214, 48, 49),
    "blue": (30, 102, 210),
    "green": (39, 145, 66),
    "yellow": (240, 180, 15),
    "purple": (134, 62, 176),
    "white": (245, 245, 245),
}

NAMES = {
    "CL": "Classification",
    "SE": "Selection",
    "SO": "Sorting",
    "MA": "Maze",
    "FI": "Filling",
    "PU": "Puzzle",
    "PL": "Placement",
    "CO": "Counting",
    "DMA": "Decode Maze",
    "MMA": "Memory Maze",
    "MDE": "Memory Decode",
    "MFI": "Memory Filling",
}
LEVELS = (1, 2, 3)
BUDGETS = {
    "CL": (4, 8, 12),
    "SE": (2, 3, 4),
    "SO": (2, 3, 4),
    "MA": (3, 5, 7),
    "FI": (1, 2, 3),
    "PU": (1, 2, 3),
    "PL": (1, 1, 1),
    "CO": (5, 5, 5),
    "DMA": (4, 6, 8),
    "MMA": (4, 6, 8),
    "MDE": (2, 3, 4),
    "MFI": (2, 3, 4),
}
"""Steps per level."""


def budget(code: str, level: int) -> int:
    """Steps of an episode. Raises KeyError, IndexError."""
    return BUDGETS[code][level - 1]
