"""A started pair, whatever its members are: containers or child processes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from manifests.records import ImageIdentity
from runner.runtimes.base import Channel, Exit, Role


class Member(Protocol):
    """One started side of a pair."""

    @property
    def channel(self) -> Channel: ...

    def alive(self) -> bool: ...

    def exit(self, timeout: float) -> Exit | None: ...

    def kill(self) -> None: ...


class StartedPair:
    """``hello`` frames and start-up time are filled in when they are known. ``expires`` (monotonic s) is when the pair
    may end by itself; ``discard`` removes members and all that belongs to them, once."""

    def __init__(
        self,
        members: Mapping[Role, Member],
        images: tuple[ImageIdentity, ...],
        expires: float,
        discard: Callable[[], None],
    ) -> None:
        self._members, self._discard = members, discard
        self._closing = threading.Lock()
        self.closed = False
        self.environment: Channel = members["environment"].channel
        sandbox = members.get("sandbox")
        self.sandbox: Channel | None = None if sandbox is None else sandbox.channel
        self.images = images
        self.expires = expires
        self.environment_hello: dict[str, Any] = {}
        self.sandbox_hello: dict[str, Any] = {}
        self.start_s = 0.0

    def alive(self) -> bool:
        return not self.closed and all(member.alive() for member in self._members.values())

    def exit(self, role: Role, timeout: float) -> Exit | None:
        member = self._members.get(role)
        return None if member is None else member.exit(timeout)

    def kill(self, role: Role) -> None:
        if (member := self._members.get(role)) is not None:
            member.kill()

    def close(self) -> None:
        with self._closing:
            if self.closed:
                return
            self.closed = True
            self._discard()
