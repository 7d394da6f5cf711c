"""The rules of one protocol: its opportunities and its column of the cause table, ready for scoring."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType

from manifests.records import Outcome


@dataclass(frozen=True)
class Rules:
    """``outcomes`` maps each known cause to its outcome and code (None: the record names the code).

    ``exclusion_cap`` is None where the protocol excludes nothing: there an attempt is never replaced.
    """

    name: str
    opportunities: int
    pass_at: tuple[int, ...]
    stop_at_success: bool
    exclusion_cap: Fraction | None
    outcomes: Mapping[str, tuple[Outcome, str | None]]

    def __post_init__(self) -> None:
        if self.opportunities < 1:
            raise ValueError(f"protocol {self.name}: opportunities {self.opportunities} is below 1")
        if not self.pass_at or self.pass_at[-1] != self.opportunities or list(self.pass_at) != sorted({*self.pass_at}):
            raise ValueError(f"protocol {self.name}: pass_at {list(self.pass_at)} must ascend to {self.opportunities}")
        object.__setattr__(self, "outcomes", MappingProxyType(dict(self.outcomes)))

    @property
    def excludes(self) -> bool:
        """Whether a confirmed incident leaves the opportunity budget."""
        return self.exclusion_cap is not None
