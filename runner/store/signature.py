"""Ed25519 over the pre-authentication encoding of DSSE, which binds a signature to what kind of text it signs.

Only verification is here: a reader of the store needs it. Private keys are in :mod:`runner.keys`.
"""

from __future__ import annotations

import base64
import binascii


def encoded(payload_type: str, body: bytes) -> bytes:
    """What is signed (DSSE v1): ``DSSEv1 SP len(type) SP type SP len(body) SP body``, lengths in bytes."""
    kind = payload_type.encode("utf-8")
    return b" ".join((b"DSSEv1", str(len(kind)).encode(), kind, str(len(body)).encode(), body))


def holds(public_key: str, signature: str, payload_type: str, body: bytes) -> bool:
    """Whether ``signature`` (base64) of ``public_key`` (32 bytes, hexadecimal) is over this body and type.

    A key or a signature that has not even the form of one does not hold; nothing raises.
    """
    from cryptography.exceptions import InvalidSignature  # 30 ms to import: only where something was signed
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key))
        key.verify(base64.b64decode(signature, validate=True), encoded(payload_type, body))
    except (InvalidSignature, ValueError, TypeError, binascii.Error):
        return False
    return True
