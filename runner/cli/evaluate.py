"""``assay evaluate``: the main job."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from runner.cli.numbers import real, whole
from runner.errors import AssayError, BadInput
from runner.terminal import echo, echo_json
from runner.words import count

if TYPE_CHECKING:
    from manifests.load import Manifests
    from runner.agents.base import Agent
    from runner.evaluate import Evaluation
    from runner.plan import Planned
    from runner.progress import Progress
    from runner.settings import Choices
    from runner.store.store import Run

RUNTIMES = ("auto", "docker", "bubblewrap", "process")
LEVELS = ("L0", "L1", "L2", "L3")
FORMATS = ("table", "json", "csv", "markdown")
INTERRUPTED = 130
UNDECIDED = 3  # all that can be done is done, and the score waits for a decision on an incident
MAX_JOBS = 1000  # every job is a pair of processes; no machine runs more
SEED = whole("a base seed from 0", 0)
JOBS = whole(f"the number of attempts to run at once, 1 to {MAX_JOBS}", 1, MAX_JOBS)
TEMPERATURE = real("a number from 0, for example 0.7", 0)
TOKENS = whole("a whole number from 1", 1)
RPM, TPM = (whole(f"a whole number from 1, or leave {name} out", 1) for name in ("RPM", "TPM"))
DOLLARS = real("US dollars above 0", math.ulp(0.0))


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
@click.option("--protocol", help="pass2, single or pass1 [default: the board's].")
@click.option("--profile", default="embedded", show_default=True, help="embedded or native.")
@click.option("--level", help="Access level L0 to L3 [default: L0; a baseline has its own].")
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
@click.option("--rpm", type=RPM, help="Requests a minute that the provider allows; shared by all jobs.")
@click.option("--tpm", type=TPM, help="Tokens a minute that the provider allows; shared by all jobs.")
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
    evaluation, progress = _prepare(model, options)
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


@dataclass(frozen=True)
class _Wanted:
    """What the options ask for, checked against the manifests."""

    agent: Agent
    choices: Choices
    manifests: Manifests
    planned: tuple[Planned, ...]
    name: str


def _wanted(model: str, options: dict[str, Any]) -> _Wanted:
    """Check every choice before anything is started. Raises BadInput or ManifestError."""
    _check(options)
    from manifests.load import load
    from runner.agents.registry import AgentRequest, Parameters, make_agent
    from runner.cli.board import complete, with_seeds
    from runner.models.limiter import Rates
    from runner.plan import plan
    from runner.settings import Choices, default_name
    from runner.store.store import check_name

    parameters = Parameters(
        options["temperature"],
        options["effort"],
        options["base_url"],
        options["max_output_tokens"],
        options["stream"],
        _extra(options["extra"]),
    )
    grants = _split(options["grants"])
    rates = Rates(options["rpm"], options["tpm"])
    manifests = load()
    for field in ("subset", "board", "protocol", "profile"):
        if options[field] is not None and not options[field].strip():
            raise BadInput(f"{field} {options[field]!r}: give a name, or leave it out for the default")
    complete(options, manifests)
    manifests = with_seeds(options, manifests)
    agent = make_agent(
        AgentRequest(
            model,
            options["agent"],
            options["level"],
            grants,
            parameters,
            rates,
            board=options["board"],
            setting=options["setting"],
        )
    )
    _check_cost(options["max_cost"], agent)
    choices = Choices(
        model=model,
        board=options["board"],
        subset=options["subset"],
        tasks=options["tasks"],
        protocol=options["protocol"],
        profile=options["profile"],
        seed=options["seed"],
        runtime=options["runtime"],
        gpus=options["gpus"],
        agent=options["agent"],
        level=options["level"],
        grants=grants,
        parameters=parameters.given(),
    )
    planned = plan(manifests, choices, agent.info)
    name = default_name(choices, agent.info) if options["run_name"] is None else options["run_name"]
    check_name(name)
    return _Wanted(agent, choices, manifests, planned, name)


def _prepare(model: str, options: dict[str, Any]) -> tuple[Evaluation, Any]:
    """Everything that a start needs. Raises BadInput or ManifestError."""
    wanted = _wanted(model, options)
    from runner.cli.board import keep_seeds
    from runner.cli.common import console, open_store
    from runner.evaluate import Evaluation
    from runner.progress import Progress
    from runner.runtimes.select import clean, select

    agent, store = wanted.agent, open_store(write=True)
    keep_seeds(options, wanted.manifests, store.home)
    progress = Progress(console(error=True), models=agent.info.kind == "model")
    store.database.say = progress.say

    def make_runtime() -> Any:
        from runner.agents.registry import preflight

        answered = preflight(agent)
        _announce(evaluation, progress)  # not before: a wrong name of a run or a model is one line
        if answered is not None:
            progress.say(answered)
        runtime = select(wanted.choices.runtime, agent.info, store.home, progress.say, jobs=options["jobs"])
        progress.say(f"runtime {runtime.facts.why}")
        return runtime

    evaluation = Evaluation(
        store,
        wanted.manifests,
        wanted.choices,
        agent,
        wanted.planned,
        wanted.name,
        options["jobs"],
        make_runtime,
        progress,
        max_cost_usd=options["max_cost"],
        clean=lambda runtime: clean(runtime, agent.info, store.home),
    )
    progress.stopping = evaluation.halt.draining.is_set
    return evaluation, progress


def _check(options: dict[str, Any]) -> None:
    """The choices that need no manifest."""
    if options["runtime"] not in RUNTIMES:
        raise BadInput(f"runtime {options['runtime']!r} is not one of {', '.join(RUNTIMES)}")
    if options["level"] not in (None, *LEVELS):
        raise BadInput(f"level {options['level']!r} is not one of {', '.join(LEVELS)}")


def _check_cost(max_cost: float | None, agent: Agent) -> None:
    """A limit that cannot hold is refused instead of kept in silence."""
    if max_cost is None:
        return
    model = getattr(agent, "model", None)
    if model is None:
        raise BadInput(f"max-cost {max_cost:g}: the baseline {agent.info.name} calls no model; leave MAX_COST out")
    if not model.priced:
        raise BadInput(
            f"max-cost {max_cost:g}: the price of {model.name} is unknown, so that its cost cannot be limited; leave "
            "MAX_COST out"
        )


def _announce(evaluation: Evaluation, progress: Any) -> None:
    """What will run, and what of it cannot run here and stays missing."""
    from runner.plan import missing_here

    planned = evaluation.planned
    here = sum(item.reason is None for item in planned)
    conditions = sum(len(item.conditions) for item in planned)
    what = f"{here} of {count(len(planned), 'environment')}, {count(conditions, 'condition')}"
    progress.say(f"run {evaluation.name}: {what}")
    away = [(item.environment_id, item.family, item.reason) for item in planned if item.reason is not None]
    for missing in missing_here(away):
        progress.say(f"missing here: {missing}")


def _dry_run(model: str, form: str, options: dict[str, Any]) -> int:
    """What the command would do, from the manifests and from what is recorded already."""
    wanted = _wanted(model, options)
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


def _extra(given: tuple[str, ...]) -> dict[str, Any] | None:
    """``top_p=0.9 seed=7 stop=END`` as a dictionary; a value that is no JSON is text."""
    from manifests import strict

    found: dict[str, Any] = {}
    for item in given:
        name, equals, value = item.partition("=")
        if not name or not equals:
            raise BadInput(f"parameter {item!r}: give NAME=VALUE, for example top_p=0.9")
        if name in found:
            raise BadInput(f"parameter {item!r}: {name} is given twice; keep one of them")
        try:
            found[name] = strict.loads(value)
        except strict.DuplicateKey as error:
            raise BadInput(f"parameter {item!r}: {error}; keep one of them") from None
        except ValueError:
            found[name] = value
    return found or None


def _split(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(part.strip() for part in text.split(",") if part.strip())
