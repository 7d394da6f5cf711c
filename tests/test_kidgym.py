"""KidGym's twelve tasks: every episode is solvable, unambiguous and not over before it starts; chances are exact."""

from __future__ import annotations

import csv
import warnings
from collections import Counter
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from random import Random

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given
from hypothesis import strategies as st

import images.kidgym.gym
from images.kidgym import atlas, baseline, contact, solve
from images.kidgym.catalog import BUDGETS, EMOJI, ITEMS, LEVELS, NAMES, budget
from images.kidgym.draw import SIDES, frame
from images.kidgym.episode import Episode
from images.kidgym.generate import generate
from images.kidgym.rules import SLOTS, Mark, number_of, plural

CELLS = [(code, level) for code in BUDGETS for level in LEVELS]
FACTS = Path(__file__).parents[2] / "shared" / "kidgym" / "tasks.csv"
cells = st.sampled_from(CELLS)
seeds = st.integers(0, 2**40)


def play(episode: Episode) -> str | None:
    """The shortest solution, through the options."""
    for action in solve.solution(episode.task):
        episode.choose(episode.index_of(action))
    return episode.end


@pytest.mark.skipif(not FACTS.exists(), reason="the published table is not here")
def test_step_budgets_are_those_of_the_published_table():
    with FACTS.open(encoding="utf-8") as file:
        rows = {row["task"]: tuple(int(row[f"steps_l{level}"]) for level in LEVELS) for row in csv.DictReader(file)}
    assert rows == BUDGETS


@pytest.mark.parametrize(("code", "level"), CELLS)
def test_every_episode_is_solvable_unambiguous_and_open(code, level):
    lengths = set()
    for seed in range(60):
        path = solve.check(generate(code, level, seed))
        lengths.add(len(path))
        assert play(Episode(code, level, seed)) == "success"
    assert max(lengths) <= budget(code, level)


@pytest.mark.parametrize("count", [30, pytest.param(10_000, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])])
@pytest.mark.parametrize(("code", "level"), CELLS)
def test_no_episode_is_unsolvable_ambiguous_or_over_and_the_right_letter_is_uniform(code, level, count):
    letters: Counter[tuple[int, int]] = Counter()  # (options, index of the right one)
    for seed in range(1000, 1000 + count):
        episode = Episode(code, level, seed)
        for action in solve.check(episode.task):
            letters[len(episode.options), episode.index_of(action)] += 1
            episode.choose(episode.index_of(action))
        assert (episode.end, episode.steps <= episode.budget) == ("success", True)
    statistic, freedom = 0.0, 0
    for options in {number for number, _ in letters} - {1}:
        seen = [letters[options, index] for index in range(options)]
        statistic += sum((times - sum(seen) / options) ** 2 for times in seen) / (sum(seen) / options)
        freedom += options - 1
    assert statistic < freedom + 6 * (2 * freedom) ** 0.5 + 20  # chi-squared; all 36 together: less than 1 in 10,000


@given(cells, seeds)
def test_a_seed_is_one_episode_and_its_options_follow_from_it(cell, seed):
    first, second = Episode(*cell, seed), Episode(*cell, seed)
    assert first.task == second.task
    random = Random(seed)
    while first.end is None:
        assert first.options == second.options
        assert [option.letter for option in first.options] == sorted(option.letter for option in first.options)
        texts = [option.action.text for option in first.options]
        assert len(set(texts)) == len(texts) <= images.kidgym.gym.MAX_OPTIONS
        index = random.randrange(len(first.options))
        assert first.choose(index) == second.choose(index)
    assert first.end in ("success", "wrong", "steps")
    assert first.options == []


@given(cells, seeds)
def test_a_reply_that_names_no_action_uses_up_a_step_and_changes_nothing(cell, seed):
    episode = Episode(*cell, seed)
    before, options = episode.state, Counter(option.action for option in episode.options)
    ended = episode.choose(None)
    assert (episode.steps, episode.state) == (1, before)
    assert ended == ("steps" if episode.budget == 1 else None)
    if ended is None:
        assert Counter(option.action for option in episode.options) == options


@given(cells, seeds, st.integers(-9, 99))
def test_an_option_that_does_not_exist_is_refused_by_name(cell, seed, index):
    episode = Episode(*cell, seed)
    if not 0 <= index < len(episode.options):
        with pytest.raises(ValueError, match=f"option {index} does not exist"):
            episode.choose(index)


@pytest.mark.parametrize(("code", "level", "text"), [("XX", 1, "task 'XX' does not exist"), ("CL", 4, "level 4")])
def test_an_unknown_task_or_level_is_refused_by_name(code, level, text):
    with pytest.raises(ValueError, match=text):
        generate(code, level, 1)


@pytest.mark.parametrize(
    ("code", "chances"),
    {
        "CL": ("1/4", "1/16", "1/64"),  # a basket of two for each item; the order cannot go wrong
        "SE": ("1/4", "1/15", "1/56"),  # one of four; two of six; three of eight
        "SO": ("1/2", "1/6", "1/24"),  # one order of two, three, four animals
        "FI": ("1/4", "1/12", "1/24"),
        "PU": ("1/4", "1/12", "1/24"),
        "PL": ("1/4", "1/8", "1/8"),
        "MDE": ("1/4", "1/36", "1/512"),
        "MFI": ("1/4", "1/12", "1/24"),
    }.items(),
)
def test_the_chance_of_a_random_player_is_the_one_that_counting_gives(code, chances):
    for level, expected in zip(LEVELS, chances, strict=True):
        for seed in range(5):
            assert solve.chance(generate(code, level, seed)) == Fraction(expected)


@pytest.mark.parametrize(("code", "level"), [("MA", 1), ("DMA", 1), ("MMA", 1), ("CO", 1), ("CO", 3), ("CL", 1)])
def test_random_play_succeeds_as_often_as_the_exact_chance_says(code, level):
    episodes = [Episode(code, level, seed) for seed in range(400)]
    chances = [float(solve.chance(episode.task)) for episode in episodes]
    random, wins = Random(7), 0
    for episode in episodes:
        while episode.end is None:
            episode.choose(random.randrange(len(episode.options)))
        wins += episode.end == "success"
    spread = sum(chance * (1 - chance) for chance in chances) ** 0.5
    assert abs(wins - sum(chances)) < 5 * spread


def test_the_documented_table_is_the_one_that_comes_out():
    assert baseline.table() in (Path(__file__).parents[1] / "docs" / "kidgym.md").read_text(encoding="utf-8")


@given(cells, seeds)
def test_nothing_lies_on_anything_else_and_labels_are_unique(cell, seed):
    episode = Episode(*cell, seed)
    for action in [None, *solve.solution(episode.task)[:-1]]:
        if action is not None:
            episode.choose(episode.index_of(action))
        scene = episode.scene
        spots = [spot for spot, _ in scene.things]
        assert all(0 <= x < 5 and 0 <= y < 5 for x, y in spots)
        assert len({*spots, scene.agent}) == len(spots) + 1
        assert scene.walls.isdisjoint([*spots, scene.agent])
        labels = [thing.label for _, thing in scene.things if not isinstance(thing, Mark) and thing.label is not None]
        assert len(set(labels)) == len(labels)
        assert len(scene.backpack) <= SLOTS


def test_memory_tasks_hide_what_they_have_shown():
    for code in ("SE", "MDE", "MFI"):
        episode = Episode(code, 2, 3)
        shown = episode.scene
        assert [option.action.text for option in episode.options] == ["continue"]
        episode.choose(0)
        assert shown.hint or shown.whole
        assert not episode.scene.hint
        assert not episode.scene.whole
    maze = Episode("MMA", 2, 3)
    (diamond,) = [spot for spot, thing in maze.scene.things if getattr(thing, "kind", "") == "diamond"]
    maze.choose(0)
    kinds = {spot: getattr(thing, "kind", "") for spot, thing in maze.scene.things}
    assert "diamond" not in kinds.values()
    assert kinds[diamond] == "box"


# ---- pictures -------------------------------------------------------------------------------------------------------
@given(cells, seeds, st.sampled_from(SIDES))
def test_every_moment_has_a_picture_of_nine_cells_that_changes_with_the_scene(cell, seed, side):
    episode = Episode(*cell, seed)
    theme = episode.task.theme
    for action in solve.solution(episode.task):
        scene, picture = episode.scene, frame(episode.scene, theme, side)
        assert (picture.shape, picture.dtype) == ((9 * side, 9 * side, 3), np.uint8)
        episode.choose(episode.index_of(action))
        assert np.array_equal(picture, frame(episode.scene, theme, side)) == (scene == episode.scene)


def test_a_picture_follows_from_the_scene_alone():
    first, second = (Episode("DMA", 3, 11) for _ in range(2))
    np.testing.assert_array_equal(frame(first.scene, first.task.theme), frame(second.scene, second.task.theme))


def test_the_contact_sheet_has_all_36_cells_and_both_pictures_of_every_memory_task():
    found = list(contact.cells())
    titles = [cell.title for cell in found if cell.title != "then play"]
    memory = [code for code in NAMES if Episode(code, 1, contact.SEED).task.memory]
    assert sorted(titles) == sorted(
        f"{NAMES[code]} ({code}), level {level}{': remember' * (code in memory)}" for code, level in CELLS
    )
    for one, other in pairwise(found):
        assert (other.title == "then play") == one.title.endswith(": remember")
        assert one.title == "then play" or one.what != other.what or one.picture != other.picture
    assert all(contact._font(15).getlength(line) <= contact.SIDE for cell in found for line, _ in contact._words(cell))
    assert all(cell.right.startswith("First: ") for cell in found if not cell.title.endswith(": remember"))


def test_no_two_items_look_alike_and_each_quarter_of_an_animal_shows_something():
    pictures = {name: np.asarray(atlas.item(name, 96)).astype(int) for name in EMOJI}
    names = list(pictures)
    for index, name in enumerate(names):
        for other in names[:index]:
            assert np.abs(pictures[name] - pictures[other]).mean() > 8, (name, other)
    for animal in ITEMS["animal"]:
        for top in (0, 48):
            for left in (0, 48):
                seen = (pictures[animal][top : top + 48, left : left + 48, 3] > 128).mean()
                assert seen > 0.1, (animal, top, left)


def test_words_for_several_are_english():
    animals = (
        "elephants turtles rabbits roosters cows horses pigs sheep penguins whales butterflies tigers ducks mice "
        "camels snails"
    )
    fruits = (
        "apples bananas bunches-of-grapes strawberries oranges pears peaches pineapples watermelons kiwis lemons "
        "coconuts"
    )
    food = (
        "loaves-of-bread pizzas hamburgers eggs cheeses doughnuts cookies cakes hot-dogs croissants ice-creams carrots"
    )
    toys = "balls teddy-bears kites dice drums cars trains balloons guitars rockets trumpets bicycles"
    for category, words in zip(("animal", "fruit", "food", "toy"), (animals, fruits, food, toys), strict=True):
        assert [plural(name) for name in ITEMS[category]] == [word.replace("-", " ") for word in words.split()]
    assert number_of("egg", 1) == "egg"


# ---- Gymnasium ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("code", "level"), CELLS)
def test_every_environment_passes_the_checker_of_gymnasium(code, level):
    env = gymnasium.make(f"assay/KidGym-{code}-L{level}-v0", render_mode="rgb_array")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*different render modes.*")
        check_env(env.unwrapped)


def test_gymnasium_plays_an_episode_to_its_reward():
    env = gymnasium.make("assay/KidGym-MA-L2-v0")
    _, info = env.reset(seed=4)
    total = 0.0
    for action in solve.solution(generate("MA", 2, info["episode_seed"])):
        _, reward, terminated, truncated, info_after = env.step(info["options"].index(action.text))
        total, info = total + float(reward), info_after
    assert (total, terminated, truncated, info["end"]) == (1.0, True, False, "success")
