"""An opaque text agent as a role: the only place where a second model call extracts the output."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from langchain_core.runnables.config import ensure_config

from ..core.errors import DefinitionError, Fault
from ..core.roles import Effect, RoleFn, ThreadContext
from ..nodes.history import message_text
from ..nodes.labels import Labels
from ..nodes.react import ReactRole
from ..nodes.unit import WorkflowUnit
from ..nodes.userconfig import in_config
from .llm import LlmAdapter, Method
from .models import resolve_model
from .prompts import asked

T = TypeVar("T")
Agent = Callable[[str], Any]
EXTRACT = "Extract the result from the text of another agent. Add nothing that the text does not say."


@dataclass(frozen=True)
class AgentRole:
    """Calls the agent with the role's prompt and task as one text, then types what it says."""

    agent: Agent
    unit: WorkflowUnit[Any]
    extractor: ReactRole | None
    effect: Effect = "unsafe"

    async def __call__(self, context: ThreadContext) -> Any:
        """Raises TypeError for an agent that returns no text, RunError when extraction fails."""
        parts = [message_text(message) for message in asked(self.unit, context.snapshot)]
        question = "\n\n".join(part for part in parts if part)
        text = _text(await in_config(ensure_config(), self.agent, question))
        return text if self.extractor is None else await self.extractor(_extraction(context, text))


@dataclass(frozen=True)
class AgentAdapter:
    """Made by `agent_adapter`."""

    agent: Agent
    extract: LlmAdapter | None

    def __call__(self, prompt: str, schema: type[T], /) -> RoleFn[T]:
        return self.for_unit(WorkflowUnit("role", prompt=prompt, output=schema))

    def for_unit(self, unit: WorkflowUnit[Any], labels: Labels | None = None) -> AgentRole:
        if unit.output is str:
            return AgentRole(self.agent, unit, None)
        if self.extract is None:
            told = "agent_adapter needs model= to extract an output that is not str"
            raise DefinitionError([Fault(unit.id, told)])
        extracting = WorkflowUnit(unit.id, prompt=EXTRACT, output=unit.output)
        return AgentRole(self.agent, unit, self.extract.for_unit(extracting, labels))


def agent_adapter(
    agent: Agent, *, model: Any = None, method: Method = "auto", attempts: int = 2
) -> AgentAdapter:
    """Execute roles by `agent`, a function from text to text (or to a mapping with `output`).

    Typed outputs are extracted from its text by one structured call on `model`, tried again
    until `attempts` are used up. Raises DefinitionError where such an output finds no model.
    """
    extract = None if model is None else LlmAdapter(resolve_model(model), method, attempts)
    return AgentAdapter(agent, extract)


def _text(said: Any) -> str:
    if isinstance(said, Mapping) and "output" in said:
        said = said["output"]
    if isinstance(said, str):
        return str.__str__(said)
    if hasattr(said, "content"):
        return message_text(said)
    raise TypeError(
        f"the agent returned {type(said).__name__}; it must return text or a mapping with 'output'"
    )


def _extraction(context: ThreadContext, text: str) -> ThreadContext:
    """The extractor sees the agent's text and nothing else."""
    alone = replace(context.snapshot, task=text, inputs=(), messages=(), transcripts={})
    return replace(context, snapshot=alone)
