"""The zip file of a bundle, read as a stranger's: bounded before anything is unpacked, and in one form only.

A bundle has exactly the bytes that :func:`member` and :mod:`zipfile` write for its files: every byte of the archive
belongs to a known field of a known file, so that nothing hides between, before or behind them.
"""

from __future__ import annotations

import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO

from manifests.submission import BLOBS, ENVELOPE_FILE, LEDGER_FILE, Limits
from runner.errors import BadInput
from runner.submission.findings import Report

CHUNK = 1 << 20  # bytes read at once
_BLOB = re.compile(rf"{BLOBS}[0-9a-f]{{64}}")
_LOCAL = struct.Struct("<4s5H3L2H")  # local header of a file, up to its name
_END = struct.Struct("<4s4H2LH")  # end of central directory
_END64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR64 = struct.Struct("<4sLQL")
_EPOCH = (1980, 1, 1, 0, 0, 0)
_MODE = stat.S_IFREG | 0o644
_DIRECTORY_ENTRY = 46 + 128  # bytes of a central directory entry with its name, and room for the offset of zip64
CORRUPT = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError)
DAMAGED = (*CORRUPT, OSError)


class NoBundle(Exception):
    """The archive cannot be read any further; why is in the report."""


def member(name: str, size: int, *, packed: bool) -> zipfile.ZipInfo:
    """The one form in which a file stands in a bundle: no time, no owner, mode 0644."""
    info = zipfile.ZipInfo(name, _EPOCH)
    info.create_system = 3
    info.external_attr = _MODE << 16
    info.compress_type = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
    info.file_size = size
    return info


class Archive:
    """The files of a bundle by name. Raises BadInput when there is no such file, NoBundle when it must not be read."""

    def __init__(self, path: Path, limits: Limits, report: Report) -> None:
        self.path, self.limits = path, limits
        self.files: dict[str, zipfile.ZipInfo] = {}
        try:
            self._file: IO[bytes] = path.open("rb")
        except OSError as error:
            raise BadInput(
                f"bundle {path}: cannot be read ({error.strerror}); give the file of `assay submit`"
            ) from None
        try:
            self._read(report)
        except BaseException:
            self._file.close()
            raise

    def _read(self, report: Report) -> None:
        try:
            end, count, directory = _end_of(self._file)
        except (OSError, struct.error, ValueError) as error:
            raise _refuse(report, "bundle", f"is no whole zip archive ({error}); fetch it again") from None
        if count > self.limits.files + 2:
            raise _refuse(report, "bundle", f"{count} files, {self.limits.files} are allowed; submit smaller runs")
        if directory > (self.limits.files + 2) * _DIRECTORY_ENTRY:
            raise _refuse(report, "bundle", f"a directory of {directory} bytes; `assay submit` writes a smaller one")
        try:
            self._zip = zipfile.ZipFile(self._file)
        except DAMAGED as error:
            raise _refuse(report, "bundle", f"is no zip archive ({error}); fetch it again") from None
        readable = self._bounds(report) & self._layout(report, end, directory)
        for info in self._zip.infolist():
            self._admit(info, report)
        if not readable:
            raise NoBundle

    def _bounds(self, report: Report) -> bool:
        """Sizes and ratios, from the directory alone: nothing is unpacked that breaks one."""
        before, total = len(report.problems), 0
        for info in self._zip.infolist():
            total += info.file_size
            if info.file_size > self.limits.file_bytes:
                report.problem(
                    info.filename, f"{info.file_size} bytes, {self.limits.file_bytes} are allowed; leave it out"
                )
            if info.file_size > self.limits.ratio * max(1, info.compress_size):
                ratio = info.file_size // max(1, info.compress_size)
                report.problem(
                    info.filename, f"unpacks to {ratio} times its size, {self.limits.ratio} times are allowed; store it"
                )
        if total > self.limits.total_bytes:
            report.problem("bundle", f"unpacks to {total} bytes, {self.limits.total_bytes} are allowed; submit less")
        return len(report.problems) == before

    def _layout(self, report: Report, end: int, directory: int) -> bool:
        """Files lie one behind the other from the first byte to the directory, which lies before the end record."""
        at = 0
        for info in sorted(self._zip.infolist(), key=lambda info: info.header_offset):
            if info.header_offset != at:
                what = "overlaps the file before it" if info.header_offset < at else "has unknown bytes before it"
                report.problem(info.filename, f"{what} at byte {at} of the archive; `assay submit` writes it again")
                return False
            self._file.seek(at)
            header = self._file.read(_LOCAL.size)
            if len(header) < _LOCAL.size:
                break
            name, extra = _LOCAL.unpack(header)[-2:]
            if header + self._file.read(name + extra) != _header(info) or not _plain(info):
                report.problem(info.filename, f"{_odd(info)}; `assay submit` writes it again")
            at += _LOCAL.size + name + extra + info.compress_size
        if at == self._zip.start_dir and at + directory == end:
            return True
        report.problem("bundle", f"has unknown bytes behind byte {at}; `assay submit` writes it again")
        return False

    def _admit(self, info: zipfile.ZipInfo, report: Report) -> None:
        name = info.filename
        if name in self.files:
            report.problem(name, "stands twice in the archive; keep one of them")
        elif name in (ENVELOPE_FILE, LEDGER_FILE) or _BLOB.fullmatch(name):
            self.files[name] = info
        elif name.startswith("/") or "\\" in name or ".." in name.split("/"):
            report.problem(name, "leads out of the bundle (path traversal); leave it out")
        else:
            report.problem(name, "extra file: a bundle holds submission.json, ledger.jsonl and blobs/; leave it out")

    def chunks(self, name: str) -> Iterator[bytes]:
        """The content of a file. Raises one of ``DAMAGED``."""
        with self.stream(name) as file:
            while chunk := file.read(CHUNK):
                yield chunk

    def stream(self, name: str) -> IO[bytes]:
        """Raises one of ``DAMAGED``, as reading from it does."""
        return self._zip.open(self.files[name])

    def read(self, name: str, limit: int) -> bytes:
        """A small file as a whole. Raises ValueError above ``limit`` bytes, and the rest of ``DAMAGED``."""
        size = self.files[name].file_size
        if size > limit:
            raise ValueError(f"{size} bytes, {limit} are allowed")
        return self._zip.read(self.files[name])

    def __enter__(self) -> Archive:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._zip.close()
        self._file.close()


def _refuse(report: Report, path: str, text: str) -> NoBundle:
    report.problem(path, text)
    return NoBundle(text)


def _end_of(file: IO[bytes]) -> tuple[int, int, int]:
    """Offset of the first end record, number of files, bytes of the directory. Raises ValueError, struct.error."""
    size = file.seek(0, 2)
    offset = size - _END.size
    if offset < 0:
        raise ValueError("too short")
    file.seek(offset)
    magic, disk, disks, here, count, directory, _, comment = _END.unpack(file.read(_END.size))
    if magic != b"PK\5\6" or comment or disk or disks or here != count:
        raise ValueError("it does not end with the directory of an archive")
    locator = offset - _LOCATOR64.size
    file.seek(max(0, locator))
    if locator < 0 or _LOCATOR64.unpack(file.read(_LOCATOR64.size))[0] != b"PK\6\7":
        return offset, count, directory
    offset = locator - _END64.size  # zipfile goes by it wherever there is a locator, and so do we
    file.seek(max(0, offset))
    fields = _END64.unpack(file.read(_END64.size))
    if fields[0] != b"PK\6\6":
        raise ValueError("its zip64 end record is not before its locator")
    return offset, fields[7], fields[8]


def _header(info: zipfile.ZipInfo) -> bytes:
    """The local header that :func:`member` has for a file of this size and content."""
    expected = member(info.filename, info.file_size, packed=info.compress_type == zipfile.ZIP_DEFLATED)
    expected.CRC, expected.compress_size = info.CRC, info.compress_size
    return expected.FileHeader(zip64=False)


def _plain(info: zipfile.ZipInfo) -> bool:
    """Whether the directory says of a file what :func:`member` says."""
    expected = member(info.filename, info.file_size, packed=info.compress_type == zipfile.ZIP_DEFLATED)
    far = info.header_offset > zipfile.ZIP64_LIMIT
    fields = ("date_time", "compress_type", "comment", "create_system", "flag_bits", "internal_attr", "external_attr")
    return (
        all(getattr(info, field) == getattr(expected, field) for field in fields)
        and info.volume == info.reserved == 0
        and (far or (info.extra == b"" and info.create_version == info.extract_version == zipfile.DEFAULT_VERSION))
    )


def _odd(info: zipfile.ZipInfo) -> str:
    """What is odd about a file, as far as it has a name."""
    if stat.S_ISLNK(info.external_attr >> 16):
        return "is a symbolic link"
    if info.is_dir():
        return "is a folder"
    if info.flag_bits & 1:
        return "is encrypted"
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return f"is packed by method {info.compress_type}"
    return "has an unknown form of header"
