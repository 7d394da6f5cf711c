"""``python -m leaderboard [--port N] [--address A]``: checks the port, then becomes the Streamlit server."""

from __future__ import annotations

import argparse
import errno
import socket
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

APP = Path(__file__).with_name("app.py")
PORT = 8501
MANY = 50  # runs from which the terminal sees the progress

# Okabe and Ito's blue on light, their sky blue on dark: apart from orange and grey for every kind of colour vision.
OPTIONS = {
    "global.developmentMode": "false",  # Streamlit guesses it from the name of the folder that it is installed in
    "server.headless": "true",
    "server.fileWatcherType": "none",
    "server.enableStaticServing": "false",
    "server.maxUploadSize": "1",
    "browser.gatherUsageStats": "false",
    "client.toolbarMode": "viewer",
    "runner.magicEnabled": "false",  # no bare expression is shown, so no script is walked for one
    "client.showErrorDetails": "none",
    "client.showErrorLinks": "false",
    "logger.hideWelcomeMessage": "true",
    "theme.light.primaryColor": "#0072B2",
    "theme.dark.primaryColor": "#56B4E9",
}


def main(arguments: list[str] | None = None) -> NoReturn:
    """Does not return: the process becomes the server. Bad input is one line on stderr and exit status 2."""
    parser = argparse.ArgumentParser(prog="python -m leaderboard", description="Serve the leaderboard, read-only.")
    parser.add_argument("--port", default=str(PORT), help=f"default {PORT}")
    parser.add_argument("--address", default="127.0.0.1", help="default 127.0.0.1, this machine only")
    given = parser.parse_args(arguments)
    if find_spec("streamlit") is None:
        _refuse("streamlit is not installed here: run `make leaderboard`, which installs it")
    port = port_number(given.port)
    check_free(given.address, port)
    prepare()
    print(f"leaderboard: {shown(given.address, port)} (Ctrl-C ends it)", flush=True)
    serve(given.address, port)


def prepare() -> None:
    """Read the store and build the first page before anybody waits for it: the server is this very process. What cannot
    be read is told on the page."""
    from leaderboard import ready
    from runner.store.database import AssayError
    from runner.store.store import Store

    try:
        store = Store(read_only=True)
        try:
            ready.board(store).refresh(store, say, jobs=ready.JOBS)
        finally:
            store.close()
    except AssayError:
        return


def say(done: int, count: int) -> None:
    """Progress, where there is enough to wait for."""
    if count >= MANY and done % MANY == 0:
        print(f"leaderboard: reading the runs, {done} of {count}", flush=True)


def serve(address: str, port: int) -> NoReturn:
    """Become the Streamlit server: what was read stays in memory."""
    from streamlit.web.cli import main as streamlit

    import leaderboard.visit  # noqa: F401 - with all that a visit needs
    from leaderboard import ready

    ready.keep()
    sys.argv = command(address, port)
    streamlit(prog_name="streamlit")
    sys.exit(0)


def command(address: str, port: int) -> list[str]:
    """The arguments of Streamlit."""
    options = OPTIONS | {"server.address": address, "server.port": str(port)}
    flags = [f"--{name}={value}" for name, value in options.items()]
    return ["streamlit", "run", str(APP), *flags]


def shown(address: str, port: int) -> str:
    """What to type into a browser."""
    if address in ("0.0.0.0", "::"):
        return f"http://127.0.0.1:{port}/ and every other address of this machine"
    return f"http://[{address}]:{port}/" if ":" in address else f"http://{address}:{port}/"


def port_number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= 65535):
        _refuse(f"PORT={text}: use a whole number from 1 to 65535")
    return int(text)


def check_free(address: str, port: int) -> None:
    """Refuses in one line where nothing can listen. Streamlit itself would take another port in silence."""
    try:
        family, kind, protocol, _, where = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(where)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            _refuse(f"port {port} on {address} is in use: stop the program that holds it, or choose another with PORT=")
        if error.errno == errno.EACCES:
            _refuse(f"port {port} needs a privileged user: choose one from 1024 with PORT=")
        _refuse(f"address {address!r}: {error.strerror}: use 127.0.0.1 for this machine, or 0.0.0.0 for all networks")


def _refuse(text: str) -> NoReturn:
    print(f"leaderboard: error: {text}", file=sys.stderr)
    sys.exit(2)


if __name__ == "__main__":
    main()
