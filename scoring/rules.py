"""The rules of one protocol, read from the manifests: its opportunities and what each cause means under it."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from manifests import lookup
from manifests.load import Manifests
from manifests.lookup import Ruling
from manifests.policy import Protocol


@dataclass(frozen=True)
class Rules:
    """Protocol ``name`` of ``manifests``. Raises ManifestError for a protocol that is not there."""

    manifests: Manifests = field(repr=False)
    name: str
    _ruled: dict[tuple[str, str | None], Ruling] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        lookup.named("protocol", self.name, self.manifests.protocols)

    @property
    def protocol(self) -> Protocol:
        return self.manifests.protocols[self.name]

    @property
    def opportunities(self) -> int:
        """Valid attempts that are scored per condition."""
        return self.protocol.opportunities

    @property
    def pass_at(self) -> tuple[int, ...]:
        return self.protocol.pass_at

    @property
    def exclusion_cap(self) -> Fraction | None:
        """The largest excluded part of a ranked run's attempts; None where an attempt is never replaced."""
        exclusion = self.protocol.exclusion
        return None if exclusion is None else Fraction(str(exclusion.max_fraction))

    @property
    def excludes(self) -> bool:
        """Whether a confirmed incident leaves the opportunity budget."""
        return self.protocol.exclusion is not None

    def ruling(self, cause: str, code: str | None) -> Ruling:
        """Outcome and code of a cause; ``code`` is that of the recorded violation."""
        if (known := self._ruled.get((cause, code))) is not None:
            return known
        return self._ruled.setdefault((cause, code), lookup.rule(self.manifests, cause, self.name, code))
