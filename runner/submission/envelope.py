"""DSSE envelope of a statement: one Ed25519 signature over payload and payload type."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Mapping
from typing import Any

import rfc8785
from pydantic import ValidationError

from manifests.submission import (
    ENVELOPE_FILE,
    PAYLOAD_TYPE,
    PREDICATE_NAME,
    PREDICATE_TYPE,
    SUBMISSION_VERSION,
    Envelope,
    Statement,
)
from runner.keys import Key
from runner.store.signature import holds
from runner.store.text import canonical
from runner.submission.findings import Report, shown
from runner.submission.strict import NotStrict, canonical_value

STATEMENT = "statement"  # path prefix of what is inside the payload


def sign(statement: Mapping[str, Any], key: Key) -> bytes:
    """The envelope file of a statement."""
    payload = rfc8785.dumps(dict(statement))
    signature = {"keyid": key.public, "sig": key.sign(PAYLOAD_TYPE, payload)}
    return canonical(
        {"payloadType": PAYLOAD_TYPE, "payload": base64.b64encode(payload).decode(), "signatures": [signature]}
    )


def read_envelope(raw: bytes, report: Report, key: str | None = None) -> tuple[Statement | None, str]:
    """The statement of an envelope file, None when it has no readable one, and the SHA-256 of its payload. ``key`` is
    who has to have signed, where that is asked for."""
    envelope = _envelope(raw, report)
    if envelope is None:
        return None, ""
    payload = _payload(envelope, report)
    (signature,) = envelope.signatures
    where = f"{ENVELOPE_FILE}: signatures[0]"
    if payload is None:
        return None, ""
    if not holds(signature.keyid, signature.sig, envelope.payloadType, payload) or not _is_base64(signature.sig):
        report.problem(
            f"{where}.sig",
            f"{shown(signature.sig)} is no signature of this payload by key {signature.keyid}: it was changed after "
            "signing; fetch it again from its submitter",
        )
    if key is not None and signature.keyid != key:
        report.problem(f"{where}.keyid", f"{signature.keyid} signed this, not the key {key} that was asked for")
    statement = _statement(payload, report)
    if statement is not None and statement.predicate.submitter.key != signature.keyid:
        report.problem(
            f"{STATEMENT}.predicate.submitter.key",
            f"is {statement.predicate.submitter.key}, and the signature is by {signature.keyid}: it was signed again "
            "by another key; fetch it from its submitter",
        )
    return statement, hashlib.sha256(payload).hexdigest()


def _envelope(raw: bytes, report: Report) -> Envelope | None:
    try:
        canonical_value(raw)
        return Envelope.model_validate_json(raw, strict=True)
    except NotStrict as error:
        report.problem(ENVELOPE_FILE, str(error))
    except ValidationError as error:
        report.schema(f"{ENVELOPE_FILE}: envelope", error)
    return None


def _payload(envelope: Envelope, report: Report) -> bytes | None:
    if not _is_base64(envelope.payload):
        report.problem(f"{ENVELOPE_FILE}: payload", "is not base64 in its one canonical form; fetch it again")
        return None
    return base64.b64decode(envelope.payload)


def _is_base64(text: str) -> bool:
    """Base64 of RFC 4648 with its padding and without spare bits: one text for one value."""
    try:
        return base64.b64encode(base64.b64decode(text, validate=True)).decode() == text
    except (binascii.Error, ValueError):
        return False


def _statement(payload: bytes, report: Report) -> Statement | None:
    try:
        value = canonical_value(payload)
        kind = value.get("predicateType") if isinstance(value, dict) else None
        if isinstance(kind, str) and kind.startswith(PREDICATE_NAME) and kind != PREDICATE_TYPE:
            report.problem(
                f"{STATEMENT}.predicateType",
                f"{kind!r} is a schema that this program does not know (it knows {SUBMISSION_VERSION}); upgrade assay",
            )
            return None
        predicate = value.get("predicate") if isinstance(value, dict) else None
        version = predicate.get("schema_version") if isinstance(predicate, dict) else None
        if isinstance(version, int) and version > SUBMISSION_VERSION:
            report.problem(
                f"{STATEMENT}.predicate.schema_version",
                f"{version} is a schema that this program does not know (it knows {SUBMISSION_VERSION}); upgrade assay",
            )
            return None
        return Statement.model_validate_json(payload, strict=True)
    except NotStrict as error:
        report.problem(STATEMENT, str(error))
    except ValidationError as error:
        report.schema(STATEMENT, error)
    return None
