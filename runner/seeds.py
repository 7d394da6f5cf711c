"""Seed lists besides the public one, which maintainers keep to themselves (docs/kidgym.md, 'Seeds').

A run records the SHA-256 of its list, never a seed. The list itself is kept under the home of the records, for whoever
goes on with the run, replays an attempt or draws one; it goes into no submission.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from manifests.errors import ManifestError
from manifests.load import Manifests, parse
from manifests.lookup import Condition, condition_rule, conditions
from manifests.models import SeedList
from manifests.records import AttemptRecord
from runner.errors import BadInput

FOLDER = "seeds"  # under the home of the records
VERSION = "seeds"  # key of a group's versions


def read_list(path: Path, manifests: Manifests, board: str) -> SeedList:
    """A maintainer's list for a board. Raises BadInput for a file that is none, or that shares seeds with the public
    one."""
    public = list_of(manifests, board)
    try:
        found = parse(f"seeds {path}", path.read_text(encoding="utf-8"), SeedList)
    except OSError as error:
        raise BadInput(f"seeds {path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadInput(f"seeds {path}: it is not UTF-8 text; give a JSON file as in docs/kidgym.md, 'Seeds'") from None
    except ManifestError as error:
        raise BadInput(str(error)) from None
    if len(found.seeds) != len(public.seeds):
        raise BadInput(f"seeds {path}: it has {len(found.seeds)} seeds; give {len(public.seeds)}, one for each episode")
    shared = sorted({*public.seeds, public.example} & set(found.seeds) | {found.example} & set(public.seeds))
    if shared:
        raise BadInput(f"seeds {path}: {shared[0]} is in the public list too; leave out what everybody knows")
    return found


def with_list(manifests: Manifests, board: str, seeds: SeedList) -> Manifests:
    """The same manifests with another seed list for a board."""
    return replace(manifests, seed_lists={**manifests.seed_lists, _name(manifests, board): seeds})


def list_of(manifests: Manifests, board: str) -> SeedList:
    """The seed list of a board. Raises BadInput for a board that draws nothing."""
    return manifests.seed_lists[_name(manifests, board)]


def keep(home: Path, seeds: SeedList) -> None:
    """Keep a list under the home of the records, for its owner only. It appears whole or not at all."""
    folder = home / FOLDER
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    place = folder / f"{seeds.digest}.json"
    part = place.with_suffix(".part")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(seeds.model_dump_json(indent=2) + "\n")
    os.replace(part, place)


def private_digest(versions: Mapping[str, str], manifests: Manifests) -> str | None:
    """SHA-256 of the private list of a run with these versions; None for a run of the public list, or of none."""
    digest = versions.get(VERSION)
    return None if digest in {public.digest for public in manifests.seed_lists.values()} else digest


def private_list(versions: Mapping[str, str], manifests: Manifests, home: Path) -> dict[str, str | None] | None:
    """``sha256`` of the private list of a run with these versions, and its ``title`` where it is kept under ``home``;
    None for a run of the public list, or of none."""
    digest = private_digest(versions, manifests)
    if digest is None:
        return None
    place = home / FOLDER / f"{digest}.json"
    try:
        kept = parse(str(place), place.read_text(encoding="utf-8"), SeedList)
    except (OSError, UnicodeDecodeError, ManifestError):
        return {"sha256": digest, "title": None}
    return {"sha256": digest, "title": kept.title if kept.digest == digest else None}


def conditions_of(record: AttemptRecord, manifests: Manifests, home: Path) -> tuple[Condition, ...]:
    """The conditions of a record's environment, by the seed list of its run. Raises ManifestError where that is
    private and not kept here, or was changed where it is kept."""
    rule = condition_rule(manifests, record.environment_id)
    wanted = record.settings.versions.get(VERSION)
    if rule.seeds is not None and wanted not in (None, manifests.seed_lists[rule.seeds].digest):
        place = home / FOLDER / f"{wanted}.json"
        try:
            seeds = parse(str(place), place.read_text(encoding="utf-8"), SeedList)
        except (OSError, UnicodeDecodeError):
            raise ManifestError(
                f"attempt {record.sequence}: its episode is of a private seed list that is not kept here: put the list "
                f"at {place}"
            ) from None
        if seeds.digest != wanted:
            raise ManifestError(
                f"attempt {record.sequence}: {place} is not the seed list of its run, its SHA-256 is {seeds.digest}: "
                "put the list there that the run was begun with"
            )
        manifests = replace(manifests, seed_lists={**manifests.seed_lists, rule.seeds: seeds})
    return conditions(manifests, record.environment_id, record.settings.base_seed)


def _name(manifests: Manifests, board: str) -> str:
    """The seed list of a board. Raises BadInput for a board that draws nothing."""
    families = manifests.catalogs[board].counts
    found = next((rule.seeds for family in families if (rule := manifests.conditions.families[family]).seeds), None)
    if found is None:
        raise BadInput(f"seeds: the conditions of board {board} are stored, not drawn from seeds; leave SEEDS out")
    return found
