"""Which class of determinism a replay is held to: decided by the policy and by what the auditor sees.

A record's fingerprint is a line that its submitter wrote, so it lowers nothing: every replay is compared in the class
that its engine declares. Where it diverges there, another processor or image may explain a small divergence; then the
attempt is neither confirmed nor refuted, and never passes.
"""

from __future__ import annotations

from dataclasses import dataclass

from manifests.audit import AuditPolicy, DeterminismClass, Severity
from manifests.load import Manifests
from manifests.records import AttemptRecord
from runner.audit.compare import MISSING, Divergence, divergence
from runner.audit.recorded import Course
from runner.audit.replay import Replayed
from runner.store.text import storable


@dataclass(frozen=True)
class Origin:
    """Where an attempt was recorded, against where it was replayed.

    ``differs``: fields of the fingerprint, and ``image``. ``elsewhere``: what was another one there (``image``,
    ``processor``, ``installation``), None when nothing was that could change a result. ``impossible``: a line for each
    field that the same image cannot have had otherwise.
    """

    differs: tuple[str, ...]
    elsewhere: str | None
    impossible: tuple[str, ...]


@dataclass(frozen=True)
class Judged:
    """A replay in its class. ``binding`` is the declared class, or the one up to whose difference the divergence is
    explained; then ``severity`` is a doubt and ``remark`` says it in a few words."""

    declared: DeterminismClass
    binding: DeterminismClass
    divergence: Divergence | None
    severity: Severity | None
    remark: str | None


def origin_of(record: AttemptRecord, replayed: Replayed, policy: AuditPolicy, *, from_images: bool) -> Origin:
    """``from_images``: the processes of the replay came from images, which decide everything but the processor. Without
    one, the image's identity is that of the sources alone, and the interpreter is the machine's."""
    was, now = storable(record.fingerprint), storable(replayed.fingerprint)
    fields = sorted(name for name in {**was, **now} if name not in was or name not in now or was[name] != now[name])
    image = replayed.images[0]
    same_image = [one.content for one in record.images if one.role == image.role] == [image.content]
    effective = [name for name in fields if name not in policy.without_effect]
    # A field that the record leaves out, or invents, says nothing about another machine.
    real = [name for name in effective if name in was and name in now]
    elsewhere, impossible = None, []
    if not same_image:
        elsewhere = "image"
    elif from_images:
        elsewhere = "processor" if any(name in policy.processor for name in real) else None
        impossible = [
            f"record.fingerprint.{name} is {was.get(name, MISSING)!r}, and {now.get(name, MISSING)!r} in the same image"
            for name in effective
            if name not in real or name not in policy.processor
        ]
    elif real:
        elsewhere = "processor" if all(name in policy.processor for name in real) else "installation"
    return Origin((*fields, *(() if same_image else ("image",))), elsewhere, tuple(impossible))


def judge(
    record: AttemptRecord,
    recorded: Course,
    replayed: Replayed,
    origin: Origin,
    manifests: Manifests,
    policy: AuditPolicy,
) -> Judged:
    """The divergence in the declared class, and what it counts as."""
    declared = manifests.engines[record.settings.engine].determinism
    rule, complete = policy.classes[declared], record.incident != "candidate"
    apart = divergence(recorded, replayed.course, rule, complete=complete)
    if apart is None:
        return Judged(declared, declared, None, None, None)
    severity: Severity = rule.start if apart.by <= 0 else rule.divergence
    if apart.structural:
        return Judged(declared, declared, apart, "problem", None)
    loose = policy.classes[rule.elsewhere]
    explained = severity == "problem" and origin.elsewhere is not None and loose.difference > rule.difference
    if explained and divergence(recorded, replayed.course, loose, complete=complete) is None:
        remark = f"not {declared}: within tolerance on another {origin.elsewhere}"
        return Judged(declared, rule.elsewhere, apart, "doubt", remark)
    return Judged(declared, declared, apart, severity, None)
