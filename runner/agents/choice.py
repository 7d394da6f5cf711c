"""An agent that shows a model each step as a picture with lettered options and takes the one that it names.

The text's protocol ('Algorithm 1', 'Prompts'): tasks that test no memory show the present picture alone, memory tasks
all pictures and replies so far; a worked example goes before in the setting ``icl``. Nothing is asked twice: a reply
that names no option, also an empty, refused or cut one, uses up the step.
"""

from __future__ import annotations

from typing import Any

from runner.agents.base import AgentEnd, AgentInfo, AttemptContext
from runner.agents.choice_record import Steps
from runner.agents.choice_text import example_parts, image, rules_text, step_text, text
from runner.agents.conversation import Conversation
from runner.agents.options import Options, Unreachable
from runner.agents.pictures import Picture, blank_png, check_png
from runner.agents.policy import Policy
from runner.agents.prompting import phrase
from runner.errors import AssayError, BadInput
from runner.models.base import Allowance, CallCancelled, Model, ModelFault

VIEW, EXAMPLE = "view", "example/"
AT_ONCE = 8  # pictures of one look
LENGTH_STOP = "length_stop"


class ChoiceAgent:
    """``setting``: zero-shot, cot or icl."""

    def __init__(self, info: AgentInfo, model: Model, policy: Policy, setting: str) -> None:
        self.info, self.model, self._policy, self.setting = info, model, policy, setting

    def preflight(self) -> str | None:
        """Whether key and model name are good, and whether it takes a picture. Raises BadInput and RunStopped."""
        try:
            return self.model.preflight(blank_png(self._policy.choice.check_side))
        except AssayError as error:
            self.model.preflight()  # raises where a picture is not the reason
            raise BadInput(f"model {self.model.name}: it takes no picture ({error}): {NEEDS_EYES}") from None

    def run(self, context: AttemptContext) -> AgentEnd:
        try:
            return _Attempt(self, context, self._policy).run()
        except (CallCancelled, Unreachable):  # the supervisor knows why
            return AgentEnd()
        except ModelFault as fault:
            return fault.end()


NEEDS_EYES = "a board of pictures needs a model that sees them; choose another MODEL"


class _Attempt:
    def __init__(self, agent: ChoiceAgent, context: AttemptContext, policy: Policy) -> None:
        self.agent, self.context, self.policy = agent, context, policy.choice
        self.limits = policy.pictures
        budgets = context.describe["budgets"]
        client = agent.model.client(Allowance(budgets.get("tokens"), budgets.get("images")))
        self.talk = Conversation(context, agent.model, client, policy, ())
        self.options, self.steps = Options(context.sandbox), Steps(context.facts)
        self.told: dict[str, Any] = context.describe["parameters"]

    def run(self) -> AgentEnd:
        self.context.transcript({"kind": "begin", "agent": self.agent.info.name, "setting": self.agent.setting})
        self.talk.prompt("system", rules_text(self.agent.setting))
        if "example" in self.told:
            self._show_example()
        first = self.talk.size
        while not self.options.over:
            if not self.told["memory"]:
                self.talk.forget(first)
            self._step()
        return AgentEnd()

    def _show_example(self) -> None:
        worked = self.told["example"]
        names = [f"{EXAMPLE}{number}" for number in range(len(worked["steps"]))]
        pictures: list[Picture] = []
        for start in range(0, len(names), AT_ONCE):
            pictures += self._look(names[start : start + AT_ONCE])
        self.talk.show({"role": "user", "content": example_parts(worked, pictures)}, pictures)

    def _step(self) -> None:
        (picture,) = self._look([VIEW])
        number = self.talk.turn + 1
        self.context.note(f"step {number}: the model is asked")
        said = step_text(self.context.describe["task"], number, self.told["steps"], self.options.now)
        # What a memory task shows first is asked for later: it stays, however small the model's window.
        add = self.talk.show if self.told["memory"] and number == 1 else self.talk.output
        add({"role": "user", "content": [text(said), image(picture)]}, [picture])
        reply, cut = self._ask()
        self.options.choose(self.steps.replied(self.options.now, reply, cut=cut))

    def _ask(self) -> tuple[str, bool]:
        """What the model said, and whether that was cut. Raises ModelFault for what is no reply of the model."""
        try:
            reply = self.talk.ask()
        except ModelFault as fault:
            if fault.cause not in self.policy.names_nothing:
                raise
            said = fault.reply.text if fault.reply is not None else ""
            self.talk.say(said if said.strip() else phrase("choice_silence"))
            return said, fault.cause == LENGTH_STOP
        self.talk.take(reply, calls=False)
        return reply.text, False

    def _look(self, cameras: list[str]) -> list[Picture]:
        found = self.options.look(cameras, self.policy.picture_side)
        return [check_png(data, self.limits.side, self.limits.bytes) for data in found]
