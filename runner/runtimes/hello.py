"""The first frame of both processes: from then on they only wait for work."""

from __future__ import annotations

import time
from typing import Any

from images.client.wire import StreamError
from runner.runtimes.base import Channel, EngineGone, Pair, Role, StartFailed

START_TIMEOUT_S = 120.0  # imports on a machine under load
_EXIT_WAIT_S = 5.0


def await_hello(pair: Pair, timeout: float = START_TIMEOUT_S) -> tuple[dict[str, Any], dict[str, Any]]:
    """The hello headers of environment and sandbox ({} where there is none). Raises StartFailed with evidence, or
    EngineGone."""
    deadline = time.monotonic() + timeout
    environment = _hello(pair, "environment", pair.environment, deadline)
    return environment, {} if pair.sandbox is None else _hello(pair, "sandbox", pair.sandbox, deadline)


def _hello(pair: Pair, role: Role, channel: Channel, deadline: float) -> dict[str, Any]:
    try:
        header, _ = channel.receive(deadline - time.monotonic())
    except EngineGone:
        raise
    except TimeoutError:
        raise StartFailed(
            f"the {role} did not say hello within its start-up time", _evidence(pair, role, 0.0)
        ) from None
    except (EOFError, StreamError) as error:
        evidence = _evidence(pair, role, _EXIT_WAIT_S)
        said = (evidence.get("log") or "").strip().splitlines()[-1:]
        if not isinstance(error, EOFError):  # which says no more than that it ended
            said = said or [str(error)]
        raise StartFailed(": ".join([f"the {role} ended before its hello", *said]), evidence) from None
    if header.get("op") != "hello":
        text = str(header.get("text", header))[:500]
        raise StartFailed(f"the {role} failed before its hello: {text}", _evidence(pair, role, _EXIT_WAIT_S) | header)
    return header


def _evidence(pair: Pair, role: Role, timeout: float) -> dict[str, Any]:
    ended = pair.exit(role, timeout)
    if ended is None:
        return {"role": role, "running": True}
    return {"role": role, "exit_code": ended.code, "oom": ended.oom, "log": ended.log}
