"""The file system under a store: whether it can hold an SQLite ledger (WAL needs shared memory and locks)."""

from __future__ import annotations

import ctypes
import errno
import os
from pathlib import Path

# statfs(2) magic numbers. Databases on these were reported locked or corrupt (vla-evaluation-harness#29, #33).
NETWORK = {
    0x6969: "NFS",
    0x517B: "SMB",
    0xFF534D42: "CIFS",
    0xFE534D42: "SMB2",
    0x73757245: "Coda",
    0x5346414F: "AFS",
    0x00C36400: "Ceph",
    0x0BD00BD0: "Lustre",
    0x47504653: "GPFS",
    0x7461636F: "OCFS2",
}
DOUBTFUL = {0x65735546: "FUSE", 0x01021997: "9P"}  # may be a network mount or a virtual machine's local share


def filesystem_magic(path: Path) -> int:
    """The statfs ``f_type`` of the file system that holds ``path`` (its nearest existing parent)."""
    existing = path
    while not existing.exists() and existing != existing.parent:
        existing = existing.parent
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = (ctypes.c_ulong * 32)()  # struct statfs starts with f_type, a long on every 64-bit Linux
    if libc.statfs(os.fsencode(existing), ctypes.byref(buffer)) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(existing))
    return int(buffer[0]) & 0xFFFFFFFF


def why_not_made(path: Path, error: OSError) -> str:
    """What keeps a folder from being made, naming the part of the path that does."""
    if error.errno in (errno.ENOTDIR, errno.EEXIST):
        file = next((part for part in (path, *path.parents) if part.exists() and not part.is_dir()), path)
        return f"{file} is a file and no folder"
    if error.errno in (errno.EACCES, errno.EPERM):
        return f"user {os.geteuid()} may not make it"
    if error.errno == errno.EROFS:
        return "it cannot be made on a read-only file system"
    return str(error.strerror)
