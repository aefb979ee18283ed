"""What many tests share: scripted models whose requests are held to the rules, and short ways to run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from pydantic import Field

from plait import RunError, Workflow, WorkflowUnit
from plait.nodes.history import history_faults, prefix_faults
from plait.testing import Request, ScriptedModel

made: list[ScriptedModel] = []
"""The scripted models of the running test; `model_rules` checks them when it ends."""


def scripted(script: Any, **options: Any) -> ScriptedModel:
    """A scripted model that must be used up, and whose requests must keep the rules."""
    model = ScriptedModel(script, **options)
    made.append(model)
    return model


@pytest.fixture
def model_rules() -> Any:
    """After the test: every scripted model was used up and every request kept the rules."""
    made.clear()
    yield
    for model in made:
        model.check()
        check_requests(model.requests)


def check_requests(requests: Sequence[Request]) -> None:
    """The History rule in each request; the Prefix rule and one tool list in each conversation."""
    for request in requests:
        assert history_faults(request.messages) == []
    for conversation in conversations(requests):
        assert prefix_faults([request.messages for request in conversation]) == []
        assert len({str(request.tool_schemas) for request in conversation}) <= 1


def conversations(requests: Sequence[Request]) -> list[list[Request]]:
    """Requests by path, cut where a transcript begins anew; a request without tools is a last one."""
    found: dict[str | None, list[list[Request]]] = {}
    for request in requests:
        held = found.setdefault(request.path, [])
        if not held or request.replies == 0 or request.tools != held[-1][0].tools:
            held.append([])
        held[-1].append(request)
    return [conversation for held in found.values() for conversation in held]


def answers(request: Request) -> list[ToolMessage]:
    """All tool messages of a request, in order."""
    return [message for message in request.messages if isinstance(message, ToolMessage)]


async def failure(workflow: Workflow, task: Any = "Go.", **options: Any) -> RunError:
    """The error of a run that must fail."""
    with pytest.raises(RunError) as raised:
        await workflow.run(task, **options)
    return raised.value


async def run(
    unit: WorkflowUnit[Any], script: Any, task: Any = "Go.", **options: Any
) -> tuple[Any, ScriptedModel]:
    """Run one unit from a script: the result, and the model with what it was sent."""
    model = script if isinstance(script, ScriptedModel) else scripted(script)
    return await Workflow(unit, model=model, **options).run(task), model


async def run_failing(unit: WorkflowUnit[Any], script: Any, **options: Any) -> tuple[RunError, ScriptedModel]:
    """Run one unit that must fail: its error, and the model with what it was sent."""
    model = scripted(script)
    return await failure(Workflow(unit, model=model, **options)), model


class ChunkModel(BaseChatModel):
    """Streams the given pieces, one list for each request, as a provider would send them."""

    replies: list[list[Any]]
    sent: list[list[Any]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "chunks"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self.bind(tools=tools, **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: Any = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        raise NotImplementedError("this model only streams")

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: Any = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        self.sent.append(list(messages))
        for piece in self.replies[len(self.sent) - 1]:
            yield ChatGenerationChunk(message=piece)


def call_chunk(index: int | None, name: str | None, args: str, call_id: str | None = None) -> AIMessageChunk:
    """One streamed piece of a tool call."""
    piece = {"index": index, "name": name, "args": args, "id": call_id, "type": "tool_call_chunk"}
    return AIMessageChunk("", tool_call_chunks=[piece])


def last_chunk(finish: str = "tool_calls") -> AIMessageChunk:
    """The streamed piece that ends a reply."""
    return AIMessageChunk("", response_metadata={"finish_reason": finish}, chunk_position="last")
