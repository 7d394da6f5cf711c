"""The files of a bundle and its archive: nothing added, taken, swapped or hidden, and no bomb unpacked."""

from __future__ import annotations

import re
import stat
import struct
import zipfile
from pathlib import Path

import pytest
from submission_forge import Change, Forge, blob, forge, origin, problems, put, verify

from manifests.submission import BLOBS, ENVELOPE_FILE, LEDGER_FILE, load_limits
from runner.submission.archive import member


def swap(made: Forge) -> None:
    one, two = (f"{BLOBS}{made.artifact(name)['sha256']}" for name in ("states.npy", "actions.npy"))
    made.files[one], made.files[two] = made.files[two], made.files[one]


FILES: list[tuple[str, Change, str]] = [
    ("swapped artifacts", swap, r"blobs/\w+: has SHA-256 \w+: its content was changed or swapped"),
    ("a changed artifact", lambda made: made.files.update({blob(made): b"x" + made.files[blob(made)][1:]}),
     r"changed or swapped"),
    ("a shorter artifact", lambda made: made.files.update({blob(made): b"x"}),
     r"blobs/\w+: has 1 bytes, its record says"),
    ("a missing artifact", lambda made: made.files.pop(blob(made)),
     r"blobs/\w+: missing: a record names this artifact"),
    ("an extra artifact", lambda made: made.files.update({f"{BLOBS}{'0' * 64}": b"x"}),
     r"blobs/0+: extra file: no record names"),
    ("an extra file", lambda made: made.files.update({"README": b"x"}), r"README: extra file"),
    ("a file above", lambda made: made.files.update({"../../x": b"x"}),
     r"../../x: leads out of the bundle \(path traversal\)"),
    ("an absolute file", lambda made: made.files.update({"/etc/x": b"x"}), r"/etc/x: leads out of the bundle"),
    ("a file of another system", lambda made: made.files.update({"..\\x": b"x"}), r"leads out of the bundle"),
    ("no ledger", lambda made: made.files.pop(LEDGER_FILE), r"ledger.jsonl: missing"),
    ("no envelope", lambda made: made.files.pop(ENVELOPE_FILE), r"submission.json: missing: nothing is signed"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "message"), [row[1:] for row in FILES], ids=[row[0] for row in FILES])
def test_files_that_were_swapped_added_or_taken_are_refused(tmp_path: Path, change: Change, message: str) -> None:
    made = forge()
    change(made)
    text = problems(made.write(tmp_path / "b.zip"))
    assert re.search(message, text), text


NOBODYS = {"name": f"{BLOBS}{'0' * 64}", "digest": {"sha256": "0" * 64}}
SUBJECTS: list[tuple[str, Change, str]] = [
    ("fewer", lambda made: made.statement["subject"].pop(3), r"statement.subject: blobs/\w+ is not listed"),
    ("the ledger left out", lambda made: made.statement["subject"].pop(),
     r"statement.subject: ledger.jsonl is not listed"),
    ("more", lambda made: made.statement["subject"].insert(0, NOBODYS),
     r"statement.subject: blobs/0+ is listed, and no record names it"),
    ("twice", lambda made: made.statement["subject"].insert(1, made.statement["subject"][0]),
     r"subject\[1\]: .* stands twice"),
    ("moved", lambda made: made.statement["subject"].reverse(), r"statement.subject: is not in the order of its names"),
    ("another hash", lambda made: put(made.statement["subject"][0]["digest"], "sha256", "0" * 64),
     r"sha256: 0+ is not that of"),
    ("another ledger", lambda made: put(made.statement["subject"][-1]["digest"], "sha256", "0" * 64),
     r"the statement says 0+"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "message"), [row[1:] for row in SUBJECTS], ids=[row[0] for row in SUBJECTS])
def test_subjects_that_are_not_the_files_are_refused(tmp_path: Path, change: Change, message: str) -> None:
    made = forge()
    change(made)
    text = problems(made.signed().write(tmp_path / "b.zip"))
    assert re.search(message, text), text


# ---- the archive


def archive_with(path: Path, info: zipfile.ZipInfo, content: bytes = b"x") -> Path:
    """A good bundle with one more member."""
    forge("noop").write(path)
    with zipfile.ZipFile(path, "a") as bundle:
        bundle.writestr(info, content)
    return path


def test_a_symbolic_link_is_refused(tmp_path: Path) -> None:
    link = member(f"{BLOBS}{'0' * 64}", 0, packed=False)
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    assert "blobs/0000" in (text := problems(archive_with(tmp_path / "b.zip", link, b"/etc/passwd")))
    assert "is a symbolic link" in text


def test_a_folder_is_refused(tmp_path: Path) -> None:
    text = problems(archive_with(tmp_path / "b.zip", member("blobs/", 0, packed=False), b""))
    assert "blobs/: extra file" in text


def test_a_file_twice_is_refused(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="Duplicate name"):
        text = problems(archive_with(tmp_path / "b.zip", member(LEDGER_FILE, 1, packed=False)))
    assert "ledger.jsonl: stands twice in the archive" in text


def test_another_way_of_packing_is_refused(tmp_path: Path) -> None:
    info = member(f"{BLOBS}{'0' * 64}", 1, packed=True)
    info.compress_type = zipfile.ZIP_BZIP2
    assert "is packed by method 12" in problems(archive_with(tmp_path / "b.zip", info))


def test_an_encrypted_file_is_refused(tmp_path: Path) -> None:
    raw = bytearray(origin().bundles["noop"].read_bytes())
    raw[raw.index(b"PK\1\2") + 8] |= 1
    raw[6] |= 1
    (tmp_path / "b.zip").write_bytes(raw)
    assert "is encrypted" in problems(tmp_path / "b.zip")


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = forge("noop")
    made.replace_artifact("states.npy", bytes(64 << 20))
    path = made.forged().write(tmp_path / "b.zip", packed=True)
    monkeypatch.setattr(zipfile.ZipFile, "open", lambda *_: pytest.fail("unpacked"))
    assert re.search(r"blobs/\w+: unpacks to 1\d\d\d times its size, 100 times are allowed", problems(path))


def test_many_small_bombs_are_refused_as_one_large_one_is(tmp_path: Path) -> None:
    made = forge("noop")
    made.replace_artifact("states.npy", bytes(500_000))
    text = problems(made.forged().write(tmp_path / "b.zip", packed=True))
    assert re.search(r"blobs/\w+: unpacks to \d+ times its size, 100 times are allowed", text)


BOUNDS: list[tuple[dict[str, int], str]] = [
    ({"files": 5}, r"bundle: \d+ files, 5 are allowed"),
    ({"file_bytes": 1000}, r"blobs/\w+: \d+ bytes, 1000 are allowed"),
    ({"total_bytes": 1000}, r"bundle: unpacks to \d+ bytes, 1000 are allowed"),
    ({"statement_bytes": 1000}, r"submission.json: cannot be read \(\d+ bytes, 1000 are allowed\)"),
    ({"ledger_bytes": 1000}, r"ledger.jsonl: cannot be read \(\d+ bytes, 1000 are allowed\)"),
    ({"line_bytes": 1000}, r"ledger.jsonl: cannot be read \(a line above 1000 bytes\)"),
]


@pytest.mark.parametrize(("bound", "message"), BOUNDS, ids=[next(iter(row[0])) for row in BOUNDS])
def test_every_size_is_bounded(bound: dict[str, int], message: str) -> None:
    limits = load_limits().model_copy(update=bound)
    report = verify(origin().bundles["noop"], limits=limits)
    assert any(re.search(message, str(problem)) for problem in report.problems), report.problems


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (b"#!/bin/sh\n", b"", "unknown bytes"),
        (b"", b"more", "no whole zip archive"),
    ],
)
def test_bytes_around_the_archive_are_refused(tmp_path: Path, before: bytes, after: bytes, message: str) -> None:
    (tmp_path / "b.zip").write_bytes(before + origin().bundles["noop"].read_bytes() + after)
    assert message in problems(tmp_path / "b.zip")


def test_a_comment_of_the_archive_is_refused(tmp_path: Path) -> None:
    path = forge("noop").write(tmp_path / "b.zip")
    with zipfile.ZipFile(path, "a") as bundle:
        bundle.comment = b"hello"
    assert "no whole zip archive" in problems(path)


@pytest.mark.parametrize("part", [0.0, 0.3, 0.9, 0.999])
def test_a_truncated_archive_is_refused(tmp_path: Path, part: float) -> None:
    raw = origin().bundles["noop"].read_bytes()
    (tmp_path / "b.zip").write_bytes(raw[: int(part * len(raw))])
    assert "bundle: is no whole zip archive" in problems(tmp_path / "b.zip")


def test_files_that_share_their_bytes_are_refused(tmp_path: Path) -> None:
    # The trick of bombs whose every file is the same few bytes: two directory entries point at one place.
    raw = bytearray(forge("noop").write(tmp_path / "b.zip").read_bytes())
    first = raw.index(b"PK\1\2")
    second = raw.index(b"PK\1\2", first + 4)
    raw[second + 42 : second + 46] = raw[first + 42 : first + 46]
    (tmp_path / "b.zip").write_bytes(raw)
    assert "overlaps the file before it" in problems(tmp_path / "b.zip")


def test_a_directory_that_only_zip64_says_to_be_huge_is_refused_unread(tmp_path: Path) -> None:
    raw = forge("noop").write(tmp_path / "b.zip").read_bytes()
    end = len(raw) - 22
    record = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, 3, 10**9, 1 << 40, 0)
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, end, 1)
    (tmp_path / "b.zip").write_bytes(raw[:end] + record + locator + raw[end:])
    assert "bundle: 1000000000 files, 500000 are allowed" in problems(tmp_path / "b.zip")


def test_a_name_cannot_control_the_terminal_that_prints_it(tmp_path: Path) -> None:
    made = forge("noop")
    made.files["\x1b[2Jgood\n"] = b""
    text = problems(made.write(tmp_path / "b.zip"))
    assert "\\x1b[2Jgood: extra file" in text
    assert "\x1b" not in text
