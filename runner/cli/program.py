"""The commands of ``assay``. Each is imported when it is called, so that ``assay --help`` takes no heavy import."""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
import traceback
from typing import Any

import click

from runner.errors import AssayError

# name -> (module, one line for --help)
COMMANDS = {
    "evaluate": ("runner.cli.evaluate", "Evaluate an agent on a subset, or go on with a run."),
    "tasks": ("runner.cli.tasks", "List the environments of a subset and their engines here."),
    "score": ("runner.cli.score", "Compute the numbers of RUN, or of a ledger file."),
    "claims": ("runner.cli.claims", "Check published figures against their own denominators."),
    "incidents": ("runner.cli.incidents", "List infrastructure incidents of a run and decide on them."),
    "ledger": ("runner.cli.ledger", "Take in attempts made elsewhere."),
    "keys": ("runner.cli.keys", "Make or show the key that signs what you decide and submit."),
    "submit": ("runner.cli.submit", "Write RUN as a signed bundle."),
    "verify": ("runner.cli.verify", "Check BUNDLE offline, and print every problem."),
    "import": ("runner.cli.import_bundle", "Verify BUNDLE and record its run."),
    "audit": ("runner.cli.audit", "Check RUN: its log, files, numbers, eligibility, replays."),
    "episode": ("runner.cli.episode", "Show one attempt: video, pictures, contact sheet, transcript."),
    "doctor": ("runner.cli.doctor", "Check this machine, and say how to mend what is missing."),
    "site": ("runner.cli.site", "Write the leaderboard as static pages."),
    "runs": ("runner.cli.runs", "List the runs in the store, or withdraw one."),
    "images": ("runner.cli.images", "Build, list, verify or lock the container images."),
}
FAULT = 70  # EX_SOFTWARE: a fault of assay itself
INTERRUPTED = 130


class LazyGroup(click.Group):
    """Lists commands without importing them."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(COMMANDS[name][0]).command
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
def assay() -> None:
    """A reproducible leaderboard for embodied foundation-model agents.

    Records go to ./runs, or to ASSAY_HOME; the ledger is SQLite there, or PostgreSQL by the URL in ASSAY_STORE.
    """


def run(arguments: list[str] | None = None) -> int:
    """Run a command; every error is one line on stderr."""
    try:
        value: Any = assay.main(args=arguments, prog_name="assay", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return 2
    except click.UsageError as error:
        return _fail(error.format_message().replace("\n", " "), 2)
    except (click.Abort, KeyboardInterrupt):
        return _fail("stopped", INTERRUPTED)
    except click.ClickException as error:
        return _fail(error.format_message(), error.exit_code)
    except AssayError as error:
        return _fail(str(error), error.exit_code)
    except BrokenPipeError:
        # The reader of stdout has left, as in `assay tasks | head`: not a fault, and nothing can be written any more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        return _foreseen(error) or _fault(error)
    return value if isinstance(value, int) else 0


def _foreseen(error: Exception) -> int | None:
    """Errors of parts below the runner that users can cause: their texts are one line already."""
    from manifests.errors import ManifestError
    from runner.runtimes.base import EngineGone, RuntimeUnavailable

    if isinstance(error, ManifestError):
        return _fail(str(error), 2)
    if isinstance(error, RuntimeUnavailable | EngineGone):
        return _fail(str(error), 1)
    return None


def _fault(error: Exception) -> int:
    text = "".join(traceback.format_exception(error))
    with tempfile.NamedTemporaryFile("w", prefix="assay-", suffix=".log", delete=False, encoding="utf-8") as file:
        file.write(text)
    return _fail(f"unexpected {type(error).__name__}: a fault of assay; the traceback is in {file.name}", FAULT)


def _fail(text: str, code: int) -> int:
    from runner.terminal import echo, printable

    echo(f"assay: error: {printable(' '.join(text.split()))}", err=True)
    return code
