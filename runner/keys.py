"""The signing key of a person: Ed25519, one PEM file that only its owner may read (docs/incidents.md, 'Keys').

It lies at ``ASSAY_KEY``, or ``$XDG_CONFIG_HOME/assay/key.pem`` (``~/.config`` where that is not set). It never goes
into a record, a bundle or a message; the public key, 32 bytes in hexadecimal, goes wherever a signature goes.
"""

from __future__ import annotations

import base64
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from runner.errors import BadInput
from runner.store.signature import encoded

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

OTHERS = 0o077  # permission bits of everybody but the owner


@dataclass(frozen=True)
class Key:
    """A key that signs. ``public`` is its public half, hexadecimal."""

    public: str
    _private: Ed25519PrivateKey

    def sign(self, payload_type: str, body: bytes) -> str:
        """Signature in base64 over the DSSE encoding of a body and its type."""
        return base64.b64encode(self._private.sign(encoded(payload_type, body))).decode("ascii")

    def __repr__(self) -> str:
        return f"Key({self.public})"


def key_path() -> Path:
    if given := os.environ.get("ASSAY_KEY"):
        return Path(given)
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "assay" / "key.pem"


def new_key(path: Path) -> Key:
    """Make a key at ``path``. Raises BadInput when there is a file already: a lost key cannot sign again."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    private = Ed25519PrivateKey.generate()
    pem = private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise BadInput(f"key {path}: there is one already; move it away, or set ASSAY_KEY to another file") from None
    except OSError as error:
        raise BadInput(f"key {path}: cannot be written ({error.strerror}); set ASSAY_KEY to another file") from None
    with os.fdopen(descriptor, "wb") as file:
        file.write(pem)
    return _key(private)


def load_key(path: Path) -> Key | None:
    """The key at ``path``, or None where there is none. Raises BadInput for a file that is no such key, or that others
    may read."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        mode = path.stat().st_mode
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BadInput(f"key {path}: cannot be read ({error.strerror})") from None
    if mode & OTHERS:
        raise BadInput(f"key {path}: its mode {mode & 0o777:03o} lets others read it; run: chmod 600 {path}")
    try:
        private = load_pem_private_key(content, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        private = None
    if not isinstance(private, Ed25519PrivateKey):
        raise BadInput(f"key {path}: is not an unencrypted Ed25519 key in PEM; `assay keys new` makes one")
    return _key(private)


def _key(private: Ed25519PrivateKey) -> Key:
    return Key(private.public_key().public_bytes_raw().hex(), private)
