"""From what the options of ``assay evaluate`` ask for to an evaluation that can run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runner.cli.wanted import check
from runner.words import count

if TYPE_CHECKING:
    from runner.evaluate import Evaluation
    from runner.progress import Progress


def prepare(model: str, options: dict[str, Any]) -> tuple[Evaluation, Progress]:
    """Everything that a start needs. Raises BadInput or ManifestError."""
    wanted = check(model, options)
    from runner.cli.board import keep_seeds
    from runner.cli.common import console, open_store
    from runner.evaluate import Evaluation
    from runner.progress import Progress
    from runner.runtimes.select import clean, select

    agent, store = wanted.agent, open_store(write=True)
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
        keep_seeds(options, wanted.manifests, store.home)  # not before: the list of a refused start is not kept
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


def _announce(evaluation: Evaluation, progress: Progress) -> None:
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
