"""``assay evaluate``: the main job."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from runner.cli.numbers import real, whole
from runner.cli.prepare import prepare
from runner.cli.wanted import RUNTIMES, check
from runner.errors import AssayError, BadInput
from runner.models.window import MOST
from runner.terminal import echo, echo_json

if TYPE_CHECKING:
    from runner.evaluate import Evaluation
    from runner.progress import Progress
    from runner.store.store import Run

FORMATS = ("table", "json", "csv", "markdown")
INTERRUPTED = 130
UNDECIDED = 3  # all that can be done is done, and the score waits for a decision on an incident
MAX_JOBS = 1000  # every job is a pair of processes; no machine runs more
SEED = whole("a base seed from 0", 0)
JOBS = whole(f"the number of attempts to run at once, 1 to {MAX_JOBS}", 1, MAX_JOBS)
TEMPERATURE = real("a number from 0 to 10, for example 0.7", 0, 10)
TOKENS = whole("a whole number from 1 to 10,000,000", 1, 10**7)
RPM, TPM = (
    whole(f"a whole number from 1 to {most:,}, or leave {name.upper()} out", 1, most) for name, most in MOST.items()
)
DOLLARS = real("US dollars above 0, a billion at most", math.ulp(0.0), 1e9)


@click.command("evaluate")
@click.option("--model", help="A baseline (reference, random, noop) or a model name; without it baselines are listed.")
@click.option("--agent", help="How a model acts: code (default) or tools.")
@click.option("--board", help="ep (Embodied Playground) or kidgym [default: that of the subset, else ep].")
@click.option("--subset", help="smoke is three scenes, full all 410, kidgym-quick 180 episodes [default: the board's].")
@click.option("--tasks", help="Comma-separated ids or globs within the subset: own rates, never a headline.")
@click.option("--setting", help="How a model is prompted: zero-shot, cot or icl, on boards that have settings.")
@click.option(
    "--seeds", type=click.Path(path_type=Path), help="File of a private seed list, on boards drawn from seeds."
)
@click.option("--protocol", help="pass2 or single; on kidgym pass1 or single [default: the board's first].")
@click.option("--profile", default="embedded", show_default=True, help="embedded or native.")
@click.option("--level", help="Access level L0 or L3 [default: L0; a baseline has its own].")
@click.option("--grants", help="Comma-separated tool grants.")
@click.option(
    "--seed", type=SEED, default=0, show_default=True, help="Base seed; 0 is the only one with stored conditions."
)
@click.option("--runtime", default="auto", show_default=True, help=f"{', '.join(RUNTIMES)}.")
@click.option("--jobs", type=JOBS, default=1, show_default=True, help=f"Attempts in parallel, {MAX_JOBS} at most.")
@click.option("--run", "run_name", help="Name of the run; the same name goes on [default: from the settings].")
@click.option("--temperature", type=TEMPERATURE, help="Of a model.")
@click.option("--effort", help="Reasoning effort of a model.")
@click.option("--base-url", help="Address of a model's API.")
@click.option("--max-output-tokens", type=TOKENS, help="Of one answer [default: the provider's].")
@click.option("--stream", is_flag=True, default=None, help="Take the model's answers as streams.")
@click.option("--parameter", "extra", multiple=True, help="NAME=VALUE of the provider, VALUE as JSON; may be repeated.")
@click.option("--rpm", type=RPM, help="Requests a minute that the provider allows; shared by all jobs and commands.")
@click.option("--tpm", type=TPM, help="Tokens a minute that the provider allows; shared by all jobs and commands.")
@click.option(
    "--max-cost", type=DOLLARS, help="US dollars after which a run opens no attempt; the same command goes on."
)
@click.option(
    "--format", "form", type=click.Choice(FORMATS), default="table", show_default=True, help="What is printed."
)
@click.option("--gpus", is_flag=True, help="Ask the Engine for GPUs.")
@click.option("--render", is_flag=True, help="Then draw a video of every attempt.")
@click.option("--dry-run", is_flag=True, help="Say what it would take, and touch nothing.")
def command(model: str | None, form: str, render: bool, dry_run: bool, **options: Any) -> int:
    """Evaluate an agent on a subset, or go on with a run.

    The same command goes on with a run that stopped. Exit status: 0 every condition that can run here has its
    attempts; 1 it cannot go on now, the same command does later; 2 a wrong option, or another process has the run:
    nothing was started; 3 done, and the score waits for a decision on an incident; 130 stopped by Ctrl-C.
    """
    if model is None:
        _list_baselines()
        return 0
    if dry_run:
        return _dry_run(model, form, options)
    evaluation, progress = prepare(model, options)
    from runner.halt import signals

    error: AssayError | None = None
    with progress, signals(evaluation.halt, progress.say, evaluation.running):
        try:
            run = evaluation.run()
            if evaluation.schedule is None:
                progress.say("no condition needs another attempt")
        except AssayError as caught:
            error = caught
            found = evaluation.store.find_run(evaluation.name)
            if found is None or isinstance(caught, BadInput):
                raise
            run = found
    if render:
        _render(evaluation, run, progress)
    return _finish(evaluation, run, form, error)


def _list_baselines() -> None:
    from runner.agents.registry import BASELINES, CHOICE_AGENTS, MODEL_AGENTS

    echo("MODEL names what is evaluated. Baselines, which need no key:")
    for name, (_, text) in BASELINES.items():
        echo(f"  {name:<10} {text}")
    echo("\nOr a model as provider/model, with its key in the provider's environment variable. AGENT is one of:")
    for name, (_, text) in {**MODEL_AGENTS, **CHOICE_AGENTS}.items():
        echo(f"  {name:<10} {text}")
    echo("\nExamples:")
    echo("  make evaluate MODEL=reference SUBSET=smoke")
    echo("  make evaluate MODEL=openai/gpt-4o AGENT=code SUBSET=smoke")
    echo("  make evaluate MODEL=openai/gpt-4o BOARD=kidgym SUBSET=kidgym-quick SETTING=cot")
    echo("  assay evaluate --model random --tasks 'marble/dual-panda/A007' --jobs 2")


def _dry_run(model: str, form: str, options: dict[str, Any]) -> int:
    """What the command would do, from the manifests and from what is recorded already."""
    wanted = check(model, options)
    if wanted.agent.info.kind == "model":
        from runner.models.library import library

        library().provider(model)  # nothing is asked, but a provider that does not exist is said
    from runner.cli.common import console
    from runner.dryrun import estimate, print_estimate
    from runner.store.database import StoreMissing
    from runner.store.store import Store

    if form not in ("table", "json"):
        raise BadInput(f"format {form!r}: a dry run has table or json")
    try:
        store = Store(read_only=True)
    except StoreMissing:
        store = None
    found = estimate(
        wanted.manifests, wanted.choices, wanted.agent, wanted.planned, wanted.name, store, options["jobs"]
    )
    if form == "json":
        echo_json(found)
    else:
        print_estimate(console(), found)
        if options["rpm"] is not None or options["tpm"] is not None:
            echo("waiting for RPM and TPM is wall clock of the waiting attempt: at a low rate it may end as wall_clock")
    return 0


def _render(evaluation: Evaluation, run: Run, progress: Progress) -> None:
    """A video of every attempt that has none. What cannot be drawn is said and costs nothing that is recorded."""
    from runner.episode.after import render_missing

    render_missing(evaluation.store, run, evaluation.manifests, evaluation.choices.runtime, progress.say)


def _finish(evaluation: Evaluation, run: Run, form: str, error: AssayError | None) -> int:
    """The result, then why the run stopped if it did. There is none where nothing is recorded or where the records are
    damaged. Returns the exit status."""
    from runner.cli.score import show
    from runner.score import score_run
    from runner.store.database import Damaged

    if isinstance(error, Damaged) or (error is not None and not evaluation.store.attempts(run)):
        raise error
    result = score_run(evaluation.store, run, evaluation.manifests)
    show(result, form)
    if error is not None:
        raise error
    if result["ledger"]["unknown_causes"]:
        return 1
    if evaluation.halt.signalled and not result["complete"]:
        echo("stopped: the same command goes on", err=True)
        return INTERRUPTED
    return UNDECIDED if result["total"]["candidate"] else 0
